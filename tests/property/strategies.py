"""Random schedules of every form, with a zone, an instant to start from and both policies.

Starts lie near the changes of the zone more often than not, and hours near midnight and 02:00: that
is where schedules go wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources

from hypothesis import strategies as st

from tests.oracle.cron import MONTHS, WEEKDAYS
from tests.oracle.zones import changes, instants, wall

RESTLESS_ZONES = [
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Almaty",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/London",
    "Pacific/Apia",
    "Pacific/Chatham",
]
ALL_ZONES = (resources.files("tzdata") / "zones").read_text("utf-8").split()
RRULE_DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


@dataclass(frozen=True)
class Example:
    text: str
    zone: str
    after: datetime
    gap: str
    repeat: str


zones = st.one_of(
    st.sampled_from(RESTLESS_ZONES), st.just("Europe/Berlin"), st.sampled_from([*ALL_ZONES, "UTC"])
)
years = st.one_of(st.integers(1970, 2100), st.integers(2000, 2040))
gaps = st.sampled_from(["after", "after", "skip"])
repeats = st.sampled_from(["first", "first", "second", "both"])


@st.composite
def starts(draw: st.DrawFn, zone: str) -> datetime:
    """An instant; within days before a change of the zone, where its year has one."""
    year = draw(years)
    jumps = changes(zone, year)
    if jumps and draw(st.integers(0, 3)) > 0:
        before_s = draw(st.one_of(st.integers(-7200, 7200), st.integers(0, 5 * 24 * 3600)))
        jump: datetime = draw(st.sampled_from(list(jumps)))
        at = jump - timedelta(seconds=before_s)
    else:
        at = datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=draw(st.integers(0, 31535999)))
    return max(at, datetime(1970, 1, 2, tzinfo=UTC))


# Cron lines.

hours = st.one_of(st.integers(0, 3), st.integers(0, 23))


@st.composite
def simple_items(
    draw: st.DrawFn, values: st.SearchStrategy[int], highest: int, names: dict[int, str]
) -> str:
    """`a`, `a-b`, `a/s`, `a-b/s`, `*`, `*/s`; a number in letters where it has a name."""

    def spelt(number: int) -> str:
        forms = [str(number), f"{number:02d}", *([names[number]] if number in names else [])]
        return draw(st.sampled_from(forms))

    low = draw(values)
    high = draw(st.integers(low, highest))
    step = draw(st.one_of(st.integers(1, 10), st.integers(1, 100)))
    span = f"{spelt(low)}-{spelt(high)}"
    if span.endswith("-sun") and not span.startswith("sun"):
        span = f"{low}-{high}"
    forms = [spelt(low), span, f"{span}/{step}", f"{spelt(low)}/{step}", "*", f"*/{step}"]
    return draw(st.sampled_from([forms[0], *forms]))


def lists_of(items: st.SearchStrategy[str], longest: int = 3) -> st.SearchStrategy[str]:
    return st.one_of(items, st.lists(items, min_size=1, max_size=longest).map(",".join))


second_fields = lists_of(simple_items(st.integers(0, 59), 59, {}), 2)
minute_fields = lists_of(
    simple_items(st.one_of(st.sampled_from([0, 1, 15, 30, 59]), st.integers(0, 59)), 59, {})
)
hour_fields = lists_of(simple_items(hours, 23, {}))
month_fields = st.one_of(
    st.just("*"),
    st.just("*"),
    lists_of(simple_items(st.integers(1, 12), 12, dict(enumerate(MONTHS, 1)))),
)
month_day_fields = st.one_of(
    st.sampled_from(["*", "*", "?", "L", "LW", "29", "31", "30"]),
    lists_of(
        st.one_of(
            simple_items(st.integers(1, 31), 31, {}),
            st.sampled_from(["L", "LW"]),
            st.integers(1, 30).map("L-{}".format),
            st.integers(1, 31).map("{}W".format),
        )
    ),
)
week_day_names = st.one_of(st.sampled_from(WEEKDAYS), st.integers(0, 7).map(str))
week_day_fields = st.one_of(
    st.sampled_from(["*", "*", "?"]),
    lists_of(
        st.one_of(
            simple_items(st.integers(0, 6), 6, dict(enumerate(WEEKDAYS))),
            st.sampled_from(["7", "5-7", "1-7/2", "5/2", "sun-sat", "mon-fri"]),
            st.builds("{}L".format, week_day_names),
            st.builds("{}#{}".format, week_day_names, st.integers(1, 5)),
        )
    ),
)
cron_lines = st.builds(
    "{} {} {} {} {}".format,
    minute_fields,
    hour_fields,
    month_day_fields,
    month_fields,
    week_day_fields,
)
cron_lines_with_seconds = st.builds("{} {}".format, second_fields, cron_lines)
plain_cron_lines = st.builds(
    "{} {} * * {}".format, minute_fields, hour_fields, st.sampled_from(["*", "1-5", "sun"])
)
nicknames = st.sampled_from(
    ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"]
)

# Phrases.

clock_times = st.one_of(
    st.builds("{}:{:02d}".format, hours, st.integers(0, 59)),
    st.builds("{:02d}:{:02d}".format, hours, st.sampled_from([0, 1, 30, 45, 59])),
    st.builds("{:02d}:{:02d}:{:02d}".format, hours, st.integers(0, 59), st.integers(0, 59)),
)
day_names = st.sampled_from(WEEKDAYS)
phrase_days = st.one_of(
    st.sampled_from(["daily", "daily", "weekdays", "weekends", "monthly last", "yearly 02-29"]),
    st.lists(day_names, min_size=1, max_size=3, unique=True).map(
        lambda names: "weekly " + ",".join(names)
    ),
    st.integers(1, 31).map("monthly {}".format),
    st.builds(
        "monthly {} {}".format,
        st.sampled_from(["first", "second", "third", "fourth", "last"]),
        day_names,
    ),
    st.builds("yearly {:02d}-{:02d}".format, st.integers(1, 12), st.integers(1, 28)),
)
phrases = st.one_of(st.builds("{} {}".format, phrase_days, clock_times), st.just("hourly"))

# Elapsed time, one instant.

lengths = st.one_of(
    st.sampled_from(["minute", "hour", "day", "week", "1h30m", "90m", "45s", "2h", "1d", "36h"]),
    st.builds("{} seconds".format, st.integers(2, 200)),
    st.builds("{} minutes".format, st.integers(2, 2000)),
    st.builds("{} hours".format, st.integers(2, 200)),
    st.builds("{} days".format, st.integers(2, 40)),
    st.builds("{} weeks".format, st.integers(2, 9)),
    st.builds("{}h{}m".format, st.integers(1, 30), st.integers(1, 59)),
)


@st.composite
def intervals(draw: st.DrawFn, zone: str, after: datetime) -> str:
    length = draw(lengths)
    forms = [f"every {length}"]
    if length[0].isdigit() and " " not in length:
        forms.append(f"@every {length}")
    # An anchor that the wall shows once: the policies are not about anchors.
    anchor = wall(zone, after + timedelta(minutes=draw(st.integers(-20000, 20000))))
    if len(instants(zone, anchor)) == 1 and anchor.second == 0:
        forms.append(f"every {length} from {anchor:%Y-%m-%dT%H:%M}")
    return draw(st.sampled_from(forms))


@st.composite
def one_offs(draw: st.DrawFn, zone: str, after: datetime) -> str:
    offset_form = draw(st.sampled_from(["", "", "", "Z", "+05:30", "-03:00"]))
    form = draw(st.sampled_from(["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]))
    when = wall(zone, after + timedelta(minutes=draw(st.integers(-300, 5000))))
    # Not only what the wall shows: a quarter or two before it may be in a gap.
    when -= timedelta(minutes=draw(st.sampled_from([0, 15, 30, 60, 90])))
    return f"at {when.strftime(form)}{offset_form}"


# iCalendar.


def numbers(lowest: int, highest: int, longest: int = 3) -> st.SearchStrategy[str]:
    values = st.integers(lowest, highest).filter(bool)
    if lowest == 0:
        values = st.integers(lowest, highest)
    return st.lists(values, min_size=1, max_size=longest, unique=True).map(
        lambda chosen: ",".join(map(str, chosen))
    )


def ordinal_days(furthest: int) -> st.SearchStrategy[str]:
    ordinals = st.integers(-furthest, furthest).filter(bool).map(str)
    return st.builds("{}{}".format, st.one_of(st.just(""), ordinals), st.sampled_from(RRULE_DAYS))


def comma_list(items: st.SearchStrategy[str], longest: int = 3) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=1, max_size=longest, unique=True).map(",".join)


@st.composite
def rrules(draw: st.DrawFn, zone: str, after: datetime) -> str:
    freq = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]))
    parts = {"FREQ": freq}

    def maybe(name: str, values: st.SearchStrategy[str], one_in: int = 3) -> None:
        if draw(st.integers(1, one_in)) == 1:
            parts[name] = draw(values)

    maybe("INTERVAL", st.integers(1, 90 if freq == "MINUTELY" else 6).map(str))
    maybe("BYMONTH", numbers(1, 12, 4))
    if freq != "WEEKLY":
        maybe("BYMONTHDAY", st.one_of(numbers(1, 31), numbers(-31, 31)))
    match freq:
        case "YEARLY" if "BYMONTH" not in parts:
            days = ordinal_days(53)
        case "YEARLY" | "MONTHLY":
            days = ordinal_days(5)
        case _:
            days = st.sampled_from(RRULE_DAYS)
    maybe("BYDAY", comma_list(days, 5), 2)
    maybe("BYHOUR", st.lists(hours, min_size=1, max_size=3, unique=True).map(_joined), 2)
    maybe("BYMINUTE", numbers(0, 59), 2)
    if len(parts) > 1 + ("INTERVAL" in parts):
        maybe("BYSETPOS", st.one_of(numbers(-3, 3, 2), st.sampled_from(["1", "-1"])), 4)
    maybe("WKST", st.sampled_from(RRULE_DAYS), 4)
    if draw(st.integers(0, 2)) == 0:
        return "RRULE:" + ";".join(f"{name}={value}" for name, value in parts.items())
    start = wall(zone, after - timedelta(minutes=draw(st.integers(-60000, 600000))))
    start = start.replace(second=draw(st.sampled_from([0, 0, 0, 1, 59])))
    ending = draw(st.sampled_from(["", "", "COUNT", "UNTIL"]))
    if ending == "COUNT":
        parts["COUNT"] = str(draw(st.integers(1, 200)))
    elif ending == "UNTIL":
        until = start + timedelta(minutes=draw(st.integers(1, 1200000)))
        parts["UNTIL"] = f"{until:%Y%m%dT%H%M%S}"
    rule = ";".join(f"{name}={value}" for name, value in parts.items())
    return f"DTSTART:{start:%Y%m%dT%H%M%S} RRULE:{rule}"


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def schedules(zone: str, after: datetime) -> st.SearchStrategy[str]:
    return st.one_of(
        cron_lines,
        plain_cron_lines,
        cron_lines_with_seconds,
        phrases,
        intervals(zone, after),
        one_offs(zone, after),
        rrules(zone, after),
        nicknames,
    )


@st.composite
def respelt(draw: st.DrawFn, text: str) -> str:
    """The same in other letters and with other space between."""
    if draw(st.integers(0, 4)):
        return text
    space = draw(st.sampled_from(["  ", "\t", " \t "]))
    change = draw(st.sampled_from([str.upper, str.lower, str.swapcase]))
    return change(text).replace(" ", space)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    zone = draw(zones)
    after = draw(starts(zone))
    text = draw(schedules(zone, after).flatmap(respelt))
    return Example(text, zone, after, draw(gaps), draw(repeats))


# What is not a schedule: any text, and a schedule with a few characters changed.

LETTERS = "*/-,?#:;=@ \t\n.LW0123456789TZ+abceghmnorstuvy\u0663\u00df\u0130\x00"


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(examples()).text
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        length = draw(st.integers(0, 2))
        put = draw(st.text(st.sampled_from(LETTERS), max_size=2))
        text = text[:place] + put + text[place + length :]
    return text


any_text = st.one_of(st.text(max_size=40), st.text(st.sampled_from(LETTERS)), damaged())
any_zone = st.one_of(zones, zones, zones, st.text(max_size=20))
