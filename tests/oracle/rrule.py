"""Recurrence rules of RFC 5545, period by period.

A period is one year, month, week, day, hour or minute, as FREQ says; every INTERVAL-th counts,
from the one that holds DTSTART. What a period holds is decided by looking at each of its wall
times; BYSETPOS chooses among them; what is before DTSTART or after UNTIL is left out; COUNT ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from tests.oracle.cron import days, last_of_month

WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Rule:
    start: datetime
    parts: dict[str, str]
    fixed: bool = True

    @property
    def freq(self) -> str:
        return self.parts["FREQ"]

    def numbers(self, name: str) -> set[int]:
        return {int(n) for n in self.parts[name].split(",")} if name in self.parts else set()

    def walls(self, first: date, last: date) -> Iterator[datetime]:
        """The rule's wall times from `first` to `last`, in order."""
        counted = 0
        most = int(self.parts["COUNT"]) if "COUNT" in self.parts else None
        until = parse_wall(self.parts["UNTIL"]) if "UNTIL" in self.parts else None
        begin = self.start.date() if most else max(first, self.start.date())
        for period in self.periods(begin, last):
            for wall in self.chosen(period):
                if wall < self.start or (until and wall > until):
                    continue
                if counted == most:
                    return
                counted += 1
                if first <= wall.date() <= last:
                    yield wall

    def periods(self, first: date, last: date) -> Iterator[list[datetime]]:
        """The candidates of each period that counts and that touches the days asked for."""
        if self.freq in {"HOURLY", "MINUTELY"}:
            for day in days(first, last):
                if self.on(day):
                    yield from self.short_periods(day)
            return
        day = self.period_start(first)
        while day <= last:
            following = self.period_start(day + self.longest())
            if self.counts(day):
                matching = [d for d in days(day, following - DAY) if self.on(d)]
                yield [w for d in matching for w in self.times(d)]
            day = following

    def period_start(self, day: date) -> date:
        match self.freq:
            case "YEARLY":
                return date(day.year, 1, 1)
            case "MONTHLY":
                return day.replace(day=1)
            case "WEEKLY":
                return day - timedelta(days=(day.weekday() - self.week_starts_on()) % 7)
            case _:
                return day

    def longest(self) -> timedelta:
        """From a period's start, this leads into the next one and not beyond."""
        return timedelta(days={"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7, "DAILY": 1}[self.freq])

    def week_starts_on(self) -> int:
        return WEEKDAYS.index(self.parts.get("WKST", "MO"))

    def counts(self, period: date) -> bool:
        """Whether INTERVAL takes the period that begins on this day."""
        origin = self.period_start(self.start.date())
        match self.freq:
            case "YEARLY":
                distance = period.year - origin.year
            case "MONTHLY":
                distance = (period.year * 12 + period.month) - (origin.year * 12 + origin.month)
            case "WEEKLY":
                distance = (period - origin).days // 7
            case _:
                distance = (period - origin).days
        return distance % self.interval() == 0

    def interval(self) -> int:
        return int(self.parts.get("INTERVAL", "1"))

    def short_periods(self, day: date) -> Iterator[list[datetime]]:
        """The hours or the minutes of a day, as far as INTERVAL takes them."""
        length = timedelta(hours=1) if self.freq == "HOURLY" else timedelta(minutes=1)
        origin = self.start.replace(second=0)
        if self.freq == "HOURLY":
            origin = origin.replace(minute=0)
        minutes = self.numbers("BYMINUTE") or {self.start.minute}
        begin = datetime.combine(day, time())
        while begin.date() == day:
            in_hours = "BYHOUR" not in self.parts or begin.hour in self.numbers("BYHOUR")
            if in_hours and ((begin - origin) // length) % self.interval() == 0:
                if self.freq == "HOURLY":
                    within = [begin.replace(minute=m) for m in sorted(minutes)]
                elif "BYMINUTE" not in self.parts or begin.minute in minutes:
                    within = [begin]
                else:
                    within = []
                yield [w.replace(second=s) for w in within for s in self.seconds()]
            begin += length

    def times(self, day: date) -> Iterator[datetime]:
        for hour in sorted(self.numbers("BYHOUR") or {self.start.hour}):
            for minute in sorted(self.numbers("BYMINUTE") or {self.start.minute}):
                for second in self.seconds():
                    yield datetime.combine(day, time(hour, minute, second))

    def seconds(self) -> list[int]:
        return sorted(self.numbers("BYSECOND") or {self.start.second})

    def on(self, day: date) -> bool:
        """Whether the day is one of the rule's, whatever its INTERVAL."""
        if "BYMONTH" in self.parts and day.month not in self.numbers("BYMONTH"):
            return False
        if "BYMONTHDAY" in self.parts:
            from_end = day.day - last_of_month(day).day - 1
            if not {day.day, from_end} & self.numbers("BYMONTHDAY"):
                return False
        if "BYDAY" in self.parts:
            return any(self.on_weekday(day, item) for item in self.parts["BYDAY"].split(","))
        if "BYMONTHDAY" in self.parts:
            return True
        # Nothing says which day of the period: it is that of DTSTART.
        match self.freq:
            case "YEARLY":
                in_month = "BYMONTH" in self.parts or day.month == self.start.month
                return in_month and day.day == self.start.day
            case "MONTHLY":
                return day.day == self.start.day
            case "WEEKLY":
                return day.weekday() == self.start.weekday()
            case _:
                return True

    def on_weekday(self, day: date, item: str) -> bool:
        """`FR`; or `2FR`, `-1FR`: counted in the month, or in the year if FREQ says the year."""
        ordinal, name = item[:-2], item[-2:]
        if day.weekday() != WEEKDAYS.index(name):
            return False
        if not ordinal:
            return True
        if self.freq == "YEARLY" and "BYMONTH" not in self.parts:
            first, last = date(day.year, 1, 1), date(day.year, 12, 31)
        else:
            first, last = day.replace(day=1), last_of_month(day)
        from_start, from_end = (day - first).days // 7 + 1, (last - day).days // 7 + 1
        return int(ordinal) in {from_start, -from_end}

    def chosen(self, candidates: list[datetime]) -> list[datetime]:
        if "BYSETPOS" not in self.parts:
            return candidates
        positions = self.numbers("BYSETPOS")
        size = len(candidates)
        return [w for i, w in enumerate(candidates) if {i + 1, i - size} & positions]


def parse_wall(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%S")  # noqa: DTZ007 - a wall time has no zone


def parse_rrule(text: str) -> Rule:
    found = re.fullmatch(r"(?:DTSTART:(\w+)\s+)?RRULE:(\S+)", text.upper())
    assert found, text
    start = parse_wall(found[1]) if found[1] else datetime(1970, 1, 1)  # noqa: DTZ001 - a wall time
    return Rule(start, dict(part.split("=", 1) for part in found[2].split(";")))
