"""When jobs run: the schedule language, pure.

    text, zone ──parse──► Schedule ──next_after(instant)──► instant | None

`cron`, `phrases`, `intervals`, `rrules` read the forms; `walls` is the one place that knows what a
change of the zone does to a wall time; `zones` knows the zones; `explain` says it all in words.
"""

from duly.schedule.explain import Change, Explanation, explain, next_times
from duly.schedule.schedule import Schedule, parse
from duly.schedule.walls import Gap, Repeat
from duly.schedule.zones import load_zone, zone_names

__all__ = [
    "Change",
    "Explanation",
    "Gap",
    "Repeat",
    "Schedule",
    "explain",
    "load_zone",
    "next_times",
    "parse",
    "zone_names",
]
