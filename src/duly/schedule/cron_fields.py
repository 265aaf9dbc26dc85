"""The fields of a cron line: what may stand in one, and what is wrong with what may not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from cronsim import CronSim

from duly.errors import InvalidSchedule

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

# As cronsim writes it in a set of week days: (day, LAST), (day, nth).
LAST = CronSim.LAST


@dataclass(frozen=True, slots=True)
class FieldKind:
    """One of the six fields.

    Args:
        top: the highest number; for days of the week 7, which is Sunday like 0.
        unit: what a step counts, for the advice about steps that are too wide.
    """

    name: str
    low: int
    top: int
    example: str
    names: tuple[str, ...] = ()
    unit: str | None = None

    @property
    def is_day(self) -> bool:
        return self.name.startswith("day")


SECOND = FieldKind("second", 0, 59, "0 or */15", unit="seconds")
MINUTE = FieldKind("minute", 0, 59, "30 or */5", unit="minutes")
HOUR = FieldKind("hour", 0, 23, "2 or 9-17", unit="hours")
DAY = FieldKind("day of month", 1, 31, "1, 1,15, L or 15W", unit="days")
MONTH = FieldKind("month", 1, 12, "6 or jan-mar", names=tuple(MONTHS))
WEEKDAY = FieldKind("day of week", 0, 7, "mon-fri, 5L or mon#1", names=tuple(DAYS))


@dataclass(frozen=True, slots=True)
class Field:
    """A field that has been read.

    Args:
        numbers: the plain values.
        special: `(day, n)` of days of the week, in cronsim's terms; of days of the month `("L", n)`
            (n days before the last), `("LW", 0)` and `("W", n)` (the weekday nearest the nth).
        starred: starts with `*` or `?`.
        wide_step: a step that no second value of the field is in reach of.
    """

    numbers: frozenset[int]
    special: frozenset[tuple[int, int] | tuple[str, int]]
    starred: bool
    wide_step: int | None = None


_LAST_BUT = re.compile(r"l-([0-9]{1,9})")
_NEAREST = re.compile(r"([0-9]{1,9})w")
_LAST_OF = re.compile(r"([0-9a-z]+)l")
_NTH_OF = re.compile(r"([0-9a-z]+)#([0-9a-z]*)")


def read_field(kind: FieldKind, text: str) -> Field:
    """Read one field (lower case). Raises InvalidSchedule naming the field and the part."""
    if text == "?":
        if kind.is_day:
            text = "*"
        else:
            _refuse(kind, text, "? may stand only in a day field; write *")
    numbers: set[int] = set()
    special: set[tuple[int, int] | tuple[str, int]] = set()
    wide: int | None = None
    for part in text.split(","):
        if not part:
            _refuse(kind, text, "a list has an empty member")
        extra = _special(kind, part)
        if extra is not None:
            special.add(extra)
            continue
        values, step = _range(kind, part)
        numbers.update(values)
        if step is not None and step > kind.top - kind.low:
            wide = step
    return Field(frozenset(numbers), frozenset(special), text.startswith("*"), wide)


def _special(kind: FieldKind, part: str) -> tuple[int, int] | tuple[str, int] | None:
    if kind is DAY:
        return _special_day(kind, part)
    if kind is WEEKDAY:
        return _special_weekday(kind, part)
    return None


def _special_day(kind: FieldKind, part: str) -> tuple[str, int] | None:
    if part == "l":
        return ("L", 0)
    if part == "lw":
        return ("LW", 0)
    if match := _LAST_BUT.fullmatch(part):
        before = int(match[1])
        if not 1 <= before <= 30:
            _refuse(kind, part, "L-1 to L-30 count back from the last day; the last itself is L")
        return ("L", before)
    if match := _NEAREST.fullmatch(part):
        day = int(match[1])
        if not 1 <= day <= 31:
            _refuse(kind, part, "days of the month are 1 to 31")
        return ("W", day)
    if "w" in part or (part.startswith("l") and not part.isdigit()):
        _refuse(kind, part, "days that move are written L, L-2, LW or 15W, each by itself")
    return None


def _special_weekday(kind: FieldKind, part: str) -> tuple[int, int] | None:
    if part == "l":
        _refuse(kind, part, "say which day: the last Friday is 5L or friL, Saturday is sat")
    if match := _NTH_OF.fullmatch(part):
        if match[2] not in ("1", "2", "3", "4", "5"):
            _refuse(kind, part, "a month has a first (#1) to a fifth (#5) of each day")
        return (_number(kind, match[1], part) % 7, int(match[2]))
    if (match := _LAST_OF.fullmatch(part)) and part not in kind.names:
        return (_number(kind, match[1], part) % 7, LAST)
    if "#" in part:
        _refuse(kind, part, "# follows one day: mon#1")
    return None


def _range(kind: FieldKind, part: str) -> tuple[range, int | None]:
    """The values of `*`, `a`, `a-b`, each with an optional step, and that step."""
    base, slash, step_text = part.partition("/")
    step = _step(kind, step_text, part) if slash else None
    if base == "*":
        values = range(kind.low, kind.top + 1)
    elif "-" in base.removeprefix("-"):
        values = _span(kind, base, part)
    else:
        first = _number(kind, base, part)
        values = range(first, (kind.top if slash else first) + 1)
    return values[:: step or 1], step


def _span(kind: FieldKind, base: str, part: str) -> range:
    low_text, _, high_text = base.partition("-")
    low, high = _number(kind, low_text, part), _number(kind, high_text, part)
    if low <= high:
        return range(low, high + 1)
    step = part.partition("/")[1:]
    pieces = ((low, _last(kind)), (kind.low, high))
    offered = ",".join(_told(kind, base, *piece) + "".join(step) for piece in pieces)
    _refuse(kind, part, f"a range goes upward; write {offered}")


def _last(kind: FieldKind) -> int:
    return 6 if kind is WEEKDAY else kind.top


def _told(kind: FieldKind, base: str, low: int, high: int) -> str:
    def name(number: int) -> str:
        by_name = kind.names and base[0].isalpha()
        return kind.names[number - kind.low] if by_name else str(number)

    return name(low) if low == high else f"{name(low)}-{name(high)}"


def _step(kind: FieldKind, text: str, part: str) -> int:
    if not text or not (text.isascii() and text.isdigit()) or len(text) > 9:
        _refuse(kind, part, "a step is a whole number after /")
    if int(text) == 0:
        _refuse(kind, part, "a step is at least 1")
    return int(text)


def _number(kind: FieldKind, text: str, part: str) -> int:
    if text in kind.names:
        return kind.names.index(text) + kind.low
    if text == "h" or text.startswith("h("):
        _refuse(kind, part, "H is a hash of Jenkins's; to spread jobs give the job a jitter")
    if text == "r" or "~" in text:
        _refuse(kind, part, "there are no random times; to spread jobs give the job a jitter")
    if not (text.isascii() and text.isdigit()):
        known = f"a number, or one of {', '.join(kind.names)}" if kind.names else "a number"
        what = f"{text!r} is not {known}" if text else "a number is missing"
        _refuse(kind, part, what)
    if len(text) > 9 or not kind.low <= int(text) <= kind.top:
        _refuse(kind, part, f"{text[:9]} is not between {kind.low} and {kind.top}")
    return int(text)


def _refuse(kind: FieldKind, part: str, why: str) -> NoReturn:
    raise InvalidSchedule(
        f"{kind.name} {part!r}: {why} (for example {kind.example})", field=kind.name, part=part
    )
