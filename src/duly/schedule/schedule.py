"""The schedule language: text and zone in, a pure function of instants out.

Every form is read here, by one parser for everyone: what registration accepts, planning can plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from duly.errors import InvalidSchedule, NeverFires
from duly.schedule import cron, intervals, phrases, rrules
from duly.schedule.explain import warnings as warnings_of
from duly.schedule.moments import FIRST_YEAR, OneOff, read_moment
from duly.schedule.walls import Gap, Repeat, next_fixed, next_wild
from duly.schedule.zones import load_zone

_MOST_CHARACTERS = 1000
_FORMS = (
    "a cron line `30 2 * * mon-fri`, a phrase `daily 02:00`, an interval `every 5 minutes`, "
    "a one-off `at 2026-12-04T18:00`, or `RRULE:FREQ=…`"
)


Form = cron.Cron | intervals.Interval | rrules.RecurrenceRule | OneOff


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a job runs.

    Args:
        text: as given, normalised: one space between words, lower case (RRULE: upper case).
        zone: name of the zone that wall times belong to.
        gap, repeat: what becomes of fixed wall times that do not exist, or come twice.

    >>> from datetime import UTC, datetime
    >>> parse("daily 02:00", "Europe/Berlin").next_after(datetime(2026, 10, 24, tzinfo=UTC))
    datetime.datetime(2026, 10, 25, 0, 0, tzinfo=datetime.timezone.utc)
    """

    text: str
    zone: str
    gap: Gap
    repeat: Repeat
    form: Form = field(compare=False, repr=False)
    tz: ZoneInfo = field(compare=False, repr=False)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first slot strictly after `instant`, as aware UTC; None where none comes.

        Raises ValueError for an instant without an offset: it names no point in time.
        """
        if instant.tzinfo is None:
            raise ValueError(f"{instant} has no offset; give an aware datetime")
        instant = instant.astimezone(UTC)
        form = self.form
        if isinstance(form, intervals.Interval):
            return form.next_after(instant)
        if isinstance(form, OneOff) and form.moment.tzinfo is not None:
            return form.next_wall(instant)
        try:
            if isinstance(form, cron.Cron) and not form.fixed:
                return next_wild(form.next_wall, self.tz, instant)
            slot = next_fixed(form.next_wall, self.tz, instant, gap=self.gap, repeat=self.repeat)
        except OverflowError:
            return None  # beyond the year 9999
        if isinstance(form, rrules.RecurrenceRule) and form.until is not None:
            return None if slot is None or slot > form.until else slot
        return slot

    def in_words(self) -> str:
        """What it says, in a sentence without its full stop."""
        form = self.form
        absolute = isinstance(form, intervals.Interval) or (
            isinstance(form, OneOff) and form.moment.tzinfo is not None
        )
        where = "" if absolute else f", {self.zone} time"
        return f"{form.in_words()}{where}"

    def warnings(self, now: datetime) -> tuple[str, ...]:
        """What its author may not have meant, as of `now` (aware). Never a refusal."""
        return warnings_of(self, now)


@lru_cache(maxsize=100_000)
def parse(
    text: str, zone: str = "UTC", *, gap: Gap = Gap.AFTER, repeat: Repeat = Repeat.FIRST
) -> Schedule:
    """Read a schedule.

    Raises:
        InvalidSchedule: says which part is wrong and gives a form that would be right.
        NeverFires: well formed, but no instant satisfies it.
        UnknownZone: the zone is no name of the IANA database.
    """
    tz = load_zone(zone)
    text = _normalise(text)
    schedule = Schedule(text, zone, gap, repeat, _form(text, tz, repeat), tz)
    _refuse_ended(schedule)
    return schedule


def _refuse_ended(schedule: Schedule) -> None:
    """A rule whose UNTIL in UTC lies before its first time; that takes the zone to tell."""
    form = schedule.form
    if isinstance(form, rrules.RecurrenceRule) and form.until is not None:
        beginning = datetime(FIRST_YEAR - 1, 1, 1, tzinfo=UTC)
        if schedule.next_after(beginning) is None:
            raise NeverFires(
                f"the rule `{schedule.text}` never comes: UNTIL lies before its first time",
                field="RRULE",
                part="UNTIL",
            )


def _normalise(text: str) -> str:
    text = text.strip(" \t\r\n")
    if not text:
        raise InvalidSchedule(f"the schedule is empty; write {_FORMS}")
    if len(text) > _MOST_CHARACTERS:
        raise InvalidSchedule(
            f"the schedule is {len(text)} characters long, more than {_MOST_CHARACTERS}"
        )
    for character in text:
        if not (" " <= character <= "~" or character in "\t\r\n"):
            raise InvalidSchedule(
                f"the schedule has a character that cannot be part of it: {character!r}; "
                "only letters, digits and signs of ASCII can",
                part=character,
            )
    if text[:5].lower() in ("rrule", "dtsta"):
        return " ".join(text.split()).upper()
    if "\n" in text or "\r" in text:
        raise InvalidSchedule("the schedule has a line break; give one schedule, on one line")
    return " ".join(text.split()).lower()


def _form(text: str, tz: ZoneInfo, repeat: Repeat) -> Form:
    if text.startswith(("RRULE", "DTSTA")):
        return rrules.read_rule(text)
    word = text.split(" ", maxsplit=1)[0]
    if word == "@every":
        return _interval(text.removeprefix("@"), tz, repeat)
    if word.startswith("@"):
        return cron.read_cron(_nickname(text))
    if word == "every":
        return _interval(text, tz, repeat)
    if word == "at":
        return _one_off(text)
    if word in phrases.WORDS:
        return cron.read_cron(phrases.to_cron(text))
    _refuse_foreign(text, word)
    return cron.read_cron(text)


def _nickname(text: str) -> str:
    if text == "@reboot":
        raise InvalidSchedule(
            "@reboot has no time; start such a command from the system's boot, for example a "
            "systemd unit",
            part=text,
        )
    if text not in cron.NICKNAMES:
        raise InvalidSchedule(
            f"{text!r} is not known; there are {', '.join(cron.NICKNAMES)} and @every 1h30m",
            part=text,
        )
    return cron.NICKNAMES[text]


def _interval(text: str, tz: ZoneInfo, repeat: Repeat) -> intervals.Interval:
    length, anchor = intervals.read_interval(text)
    if anchor is None:
        return intervals.on_the_clock(length)
    moment = read_moment(anchor, "anchor")
    if moment.tzinfo is None:
        # An anchor is one instant, also where the job leaves gaps out or runs twice in a repeat.
        choice = Repeat.SECOND if repeat is Repeat.SECOND else Repeat.FIRST
        start = datetime(FIRST_YEAR - 1, 1, 1, tzinfo=UTC)
        at = next_fixed(OneOff(moment).next_wall, tz, start, gap=Gap.AFTER, repeat=choice)
        assert at is not None
        moment = at
    return intervals.Interval(length, moment, anchored=True)


def _one_off(text: str) -> OneOff:
    rest = text.removeprefix("at").strip()
    date, space, time = rest.partition(" ")
    if space:
        raise InvalidSchedule(
            f"`{text}`: date and time are joined by T, for example `at {date}T{time}`",
            field="moment",
            part=rest,
        )
    return OneOff(read_moment(rest, "moment"))


def _refuse_foreign(text: str, word: str) -> None:
    """Forms of other systems, each told how it is written here."""
    if (foreign := cron.cloud_form(text)) is not None:
        raise InvalidSchedule(foreign)
    if word.startswith(("tz=", "cron_tz=")):
        raise InvalidSchedule(
            "the zone is no part of the schedule; give it as the job's timezone", part=word
        )
    if word.startswith("freq="):
        raise InvalidSchedule(
            f"an iCalendar rule begins with RRULE:, so `RRULE:{text.upper()}`", part=word
        )
    looks_like_cron = word[:1].isdigit() or word[:1] in "*?-/," or len(text.split(" ")) in (5, 6, 7)
    if not looks_like_cron:
        raise InvalidSchedule(f"{text[:60]!r} is no schedule; write {_FORMS}", part=word)
