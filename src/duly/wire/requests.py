"""From a body to a `JobSpec`, with all faults told at once.

The schedule is read by the one parser that planning uses, and kept as that parser writes it, so
whatever is accepted here can be planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from duly.job import Command, JobSpec, Missed, MissedPolicy, Overlap, Retry
from duly.schedule import Gap, Repeat
from duly.wire.bodies import CommandBody, JobBody, JobFields, JobPatch, MissedBody, RetryBody
from duly.wire.documents import Json, merged
from duly.wire.faults import Fault, InvalidBody, faults_of, kind_of
from duly.wire.jobs import command_document, missed_document, retry_document
from duly.wire.schedules import read_schedule

_JOB, _PATCH = TypeAdapter(JobBody), TypeAdapter(JobPatch)
_DEFAULTS = JobSpec(schedule="", command=Command())
_TIMING = ("schedule", "timezone", "gap", "repeat")


def read_job(document: Json) -> JobSpec:
    """The spec that the body of POST /jobs describes. Raises InvalidBody with all its faults."""
    given, faults = _checked(_JOB, document)
    schedule, timing_faults = read_schedule(document if isinstance(document, dict) else {})
    faults += timing_faults
    if given is None or schedule is None or faults:
        raise InvalidBody(faults)
    return JobSpec(**(given | {"schedule": schedule}))


def patched(spec: JobSpec, patch: Json) -> JobSpec:
    """The spec after a merge patch; what the patch does not name stays exactly as it is.

    Raises InvalidBody with all faults, also of fields that do not fit together any more.
    """
    if not isinstance(patch, dict):
        raise InvalidBody([_no_object(patch)])
    patch = {key: _merged(spec, key, value) for key, value in patch.items()}
    together = {
        "starts_at": spec.starts_at,
        "ends_at": spec.ends_at,
        "input": spec.input,
        "command": spec.command,
    }
    given, faults = _checked(_PATCH, patch, together)
    schedule: str | None = spec.schedule
    if not patch.keys().isdisjoint(_TIMING):
        before = {key: str(getattr(spec, key)) for key in _TIMING}
        schedule, timing_faults = read_schedule(before | patch)
        faults += timing_faults
    if given is None or schedule is None or faults:
        raise InvalidBody(faults)
    reset = {key: getattr(_DEFAULTS, key) for key, value in patch.items() if value is None}
    return replace(spec, **(reset | given | {"schedule": schedule}))


def _checked(
    reader: TypeAdapter[Any], document: Json, before: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any] | None, list[Fault]]:
    """The values that the body gives, and its faults, those between fields included.

    Args:
        before: what stands in fields that the document does not name.
    """
    if not isinstance(document, dict):
        return None, [_no_object(document)]
    try:
        body = reader.validate_python(document)
    except ValidationError as error:
        return None, faults_of(error, [*JobBody.__annotations__])
    given = _given(body)
    return given, _faults_between({**(before or {}), **dict.fromkeys(document), **given})


def _no_object(document: Json) -> Fault:
    return Fault("", f"the body must be a JSON object, not {kind_of(document)}")


def _faults_between(values: Mapping[str, Any]) -> list[Fault]:
    """What is wrong between fields that are right each."""
    faults = []
    starts_at, ends_at = values.get("starts_at"), values.get("ends_at")
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        faults.append(Fault("/ends_at", "must not lie before starts_at"))
    retry = values.get("retry")
    if retry is not None and retry.cap < retry.backoff:
        faults.append(Fault("/retry/cap", "must not be below backoff"))
    command = values.get("command")
    if command is None:
        return faults
    given = [form for form in ("name", "exec", "shell") if getattr(command, form) is not None]
    if len(given) != 1:
        told = " and ".join(given) if given else "neither"
        faults.append(Fault("/command", f"must have exactly one of exec and shell (it has {told})"))
    elif given == ["name"] and command != Command(name=command.name):
        faults.append(
            Fault(
                "/command",
                "a named command has its directory, environment, standard input and "
                "user in the worker's file; leave them out here",
            )
        )
    if command.stdin is not None and values.get("input") is not None:
        faults.append(
            Fault("/input", "comes on standard input, and so does command.stdin: give one of them")
        )
    return faults


def _merged(spec: JobSpec, key: str, value: Json) -> Json:
    """A patch's value for one field; the fields that are objects merge member by member."""
    if not isinstance(value, dict):
        return value
    match key:
        case "command":
            before = command_document(spec.command)
            return merged({"name": before} if isinstance(before, str) else before, value)
        case "missed":
            return merged(missed_document(spec.missed), value)
        case "retry":
            return merged(retry_document(spec.retry), value)
        case _:
            return value


def _given(body: JobFields) -> dict[str, Any]:
    """The values that the body gives, as a spec holds them; null gives none."""
    return {
        key: _READ[key](value) if key in _READ else value
        for key, value in body.items()
        if value is not None
    }


def _command(body: str | CommandBody) -> Command:
    if isinstance(body, str):
        return Command(name=body)
    given: dict[str, Any] = {key: value for key, value in body.items() if value is not None}
    if "exec" in given:
        given["exec"] = tuple(given["exec"])
    if "env" in given:
        given["env"] = tuple(given["env"].items())
    return Command(**given)


def _missed(body: str | MissedBody) -> Missed:
    if isinstance(body, str):
        return Missed(MissedPolicy(body))
    given: dict[str, Any] = {key: value for key, value in body.items() if value is not None}
    if "policy" in given:
        given["policy"] = MissedPolicy(given["policy"])
    return Missed(**given)


def _retry(body: str | RetryBody) -> Retry:
    if isinstance(body, str):
        return Retry.never()
    given: dict[str, Any] = {key: value for key, value in body.items() if value is not None}
    retry = Retry(**given)
    if "cap" in given or retry.backoff <= retry.cap:
        return retry
    # Whoever asks for a longer first wait than the usual cap, and for no other cap, gets it.
    return replace(retry, cap=retry.backoff)


# How a field's JSON form becomes the spec's value; the others are the same in both.
_READ: Mapping[str, Any] = {
    "gap": Gap,
    "repeat": Repeat,
    "overlap": Overlap,
    "command": _command,
    "missed": _missed,
    "retry": _retry,
}
