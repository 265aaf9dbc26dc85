"""How the nested parts of a job are written as JSON text, for every engine alike.

Both ways are cached: few distinct policies stand behind millions of jobs. Durations are kept as
whole microseconds, so a round trip is exact.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from functools import lru_cache
from typing import Any

from duly.job import Command, Missed, MissedPolicy, Retry

_MICROSECOND = timedelta(microseconds=1)


def to_micros(length: timedelta) -> int:
    return length // _MICROSECOND


def from_micros(length: int) -> timedelta:
    return timedelta(microseconds=length)


@lru_cache(maxsize=65_536)
def encode_command(command: Command) -> str:
    fields = {field.name: getattr(command, field.name) for field in dataclasses.fields(command)}
    fields["env"] = dict(command.env)
    return _compact({name: value for name, value in fields.items() if value not in (None, {})})


@lru_cache(maxsize=65_536)
def decode_command(text: str) -> Command:
    fields = json.loads(text)
    return Command(
        **{
            **fields,
            "exec": tuple(fields["exec"]) if "exec" in fields else None,
            "env": tuple(fields.get("env", {}).items()),
        }
    )


@lru_cache(maxsize=4096)
def encode_missed(missed: Missed) -> str:
    return _compact(
        {
            "policy": missed.policy.value,
            "grace": to_micros(missed.grace),
            "window": to_micros(missed.window),
        }
    )


@lru_cache(maxsize=4096)
def decode_missed(text: str) -> Missed:
    fields = json.loads(text)
    return Missed(
        MissedPolicy(fields["policy"]), from_micros(fields["grace"]), from_micros(fields["window"])
    )


@lru_cache(maxsize=4096)
def encode_retry(retry: Retry) -> str:
    return _compact(
        {
            "tries": retry.tries,
            "backoff": to_micros(retry.backoff),
            "cap": to_micros(retry.cap),
            "safe": retry.safe,
        }
    )


@lru_cache(maxsize=4096)
def decode_retry(text: str) -> Retry:
    fields = json.loads(text)
    return Retry(
        fields["tries"], from_micros(fields["backoff"]), from_micros(fields["cap"]), fields["safe"]
    )


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
