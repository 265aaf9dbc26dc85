"""Phrases: a few words that say what a cron line says. Each is turned into that line."""

from __future__ import annotations

import re

from duly.errors import InvalidSchedule, NeverFires
from duly.schedule.cron_fields import DAYS, MONTHS

WORDS = ("hourly", "daily", "weekdays", "weekends", "weekly", "monthly", "yearly")
_FORMS = (
    "`hourly`, `daily 02:00`, `weekdays 09:30`, `weekends 7:05`, `weekly mon,thu 09:00`, "
    "`monthly 1 06:00`, `monthly last 18:00`, `monthly second tue 20:15`, "
    "`monthly last fri 18:00`, `yearly 02-29 12:00`"
)
_ORDINALS = {
    "first": "#1",
    "second": "#2",
    "third": "#3",
    "fourth": "#4",
    "fifth": "#5",
    "last": "l",
}
_EACH = {"daily": "*", "weekdays": "1-5", "weekends": "0,6"}
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_DATE = re.compile(r"([0-9]{1,2})-([0-9]{1,2})")
_LONGEST = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def to_cron(text: str) -> str:
    """The cron line of a phrase (lower case, single spaces). Raises InvalidSchedule."""
    word, *rest = text.split(" ")
    if text == "hourly":
        return "0 * * * *"
    if word == "hourly":
        raise InvalidSchedule(
            "`hourly` takes nothing more; at minute 15 of each hour is `15 * * * *`",
            part=" ".join(rest),
        )
    days, time_text = rest[:-1], rest[-1] if rest else ""
    if not rest or (not _TIME.fullmatch(time_text) and ":" not in time_text):
        given = " ".join([word, *rest])
        raise InvalidSchedule(
            f"`{given}` lacks a time of day, HH:MM or HH:MM:SS; for example `{_example(word)}`",
            field="time",
            part=time_text,
        )
    clock = _clock(time_text)
    match word, days:
        case (("daily" | "weekdays" | "weekends"), []):
            return f"{clock} * * {_EACH[word]}"
        case "weekly", [names]:
            return f"{clock} * * {_days(names)}"
        case "monthly", ["last"]:
            return f"{clock} l * *"
        case "monthly", [day]:
            return f"{clock} {_day_of_month(day)} * *"
        case "monthly", [ordinal, name] if ordinal in _ORDINALS:
            return f"{clock} * * {_day(name)}{_ORDINALS[ordinal]}"
        case "yearly", [day]:
            return f"{clock} {_date(day)} *"
        case _:
            raise InvalidSchedule(
                f"`{text}` is none of the phrases {_FORMS}; a form like yours would be "
                f"`{_example(word)}`"
            )


def _clock(text: str) -> str:
    match = _TIME.fullmatch(text)
    if match is None:
        raise InvalidSchedule(
            f"{text!r} is no time of day; write HH:MM or HH:MM:SS, for example 02:00",
            field="time",
            part=text,
        )
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidSchedule(
            f"there is no time {text}; a day goes from 00:00 to 23:59:59 (midnight is 00:00 of the "
            "next day)",
            field="time",
            part=text,
        )
    return f"{second} {minute} {hour}" if second else f"{minute} {hour}"


def _days(names: str) -> str:
    return ",".join(str(DAYS.index(_day(name))) for name in names.split(","))


def _day(name: str) -> str:
    if name in DAYS:
        return name
    near = next((day for day in DAYS if name.startswith(day)), None)
    hint = f"write {near}" if near else f"days are {', '.join(DAYS)}, in lists like mon,thu"
    raise InvalidSchedule(f"{name!r} is no day of the week; {hint}", field="day of week", part=name)


def _day_of_month(text: str) -> str:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= 31 and len(text) <= 2):
        raise InvalidSchedule(
            f"{text!r} is no day of the month; `monthly` takes 1 to 31, `last`, or a day such as "
            "`second tue`; several days are a cron line, `0 6 1,15 * *`",
            field="day of month",
            part=text,
        )
    return str(int(text))


def _date(text: str) -> str:
    match = _DATE.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= 12 or not 1 <= int(match[2]) <= 31:
        raise InvalidSchedule(
            f"{text!r} is no date of a year; write month and day, `yearly 02-29 12:00`",
            field="date",
            part=text,
        )
    month, day = int(match[1]), int(match[2])
    if day > _LONGEST.get(month, 31):
        raise NeverFires(
            f"{MONTHS[month - 1].capitalize()} has no day {day}, so `yearly {text}` never comes",
            field="date",
            part=text,
        )
    return f"{day} {month}"


def _example(word: str) -> str:
    return {
        "daily": "daily 02:00",
        "weekdays": "weekdays 09:30",
        "weekends": "weekends 10:00",
        "weekly": "weekly mon,thu 09:00",
        "monthly": "monthly last fri 18:00",
        "yearly": "yearly 12-31 23:00",
    }[word]
