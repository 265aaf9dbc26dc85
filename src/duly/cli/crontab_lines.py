"""The lines of a crontab as jobs to be, and what cannot be one. Pure, but for the zone's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from duly import crontab
from duly.cli.crontab_jobs import Line, Said, cron_env
from duly.cli.crontab_names import base_name
from duly.cli.crontab_report import Told
from duly.schedule import parse

if TYPE_CHECKING:
    from datetime import datetime

    from duly.cli.crontab_files import CrontabFile
    from duly.crontab import CronLine
    from duly.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Reading:
    """A crontab, read.

    Args:
        faults: lines that cannot be imported, and why.
    """

    file: CrontabFile
    lines: tuple[Line, ...]
    faults: tuple[Told, ...]
    warnings: tuple[Told, ...]

    @property
    def whole(self) -> bool:
        """Whether every line with a time was read, so that a job without a line has none."""
        return all((fault.text or "").lstrip().startswith("@reboot") for fault in self.faults)


def read_lines(file: CrontabFile, zone: str, now: datetime) -> Reading:
    """Read the crontab; lines without CRON_TZ are in `zone`. `now` decides what to warn of."""
    found = crontab.read(file.text, system=file.system)
    faults = [Told(file.path, fault.number, fault.text, fault.message) for fault in found.faults]
    warnings = [Told(file.path, each.number, each.text, each.message) for each in found.warnings]
    lines = []
    for entry in found.lines:
        schedule = parse(entry.schedule, entry.timezone or zone)
        said = _said(entry, file, schedule)
        name = base_name(file.label, said.shell)
        lines.append(Line(file.path, entry.number, file.source, name, said))
        warnings += [
            Told(file.path, entry.number, schedule.text, message)
            for message in schedule.warnings(now)
        ]
    return Reading(file, tuple(lines), tuple(faults), tuple(warnings))


def _said(entry: CronLine, file: CrontabFile, schedule: Schedule) -> Said:
    """What the line says, its schedule in the form that the API shows."""
    return Said(
        schedule=schedule.text,
        timezone=schedule.zone,
        shell=entry.shell,
        user=entry.user or file.user,
        stdin=entry.stdin,
        env=cron_env(entry.env),
        description=_described(entry.description),
        alert="none" if entry.alert == "none" else "owner",
        owner=None if entry.alert == "none" else entry.alert,
    )


def _described(text: str | None) -> str | None:
    """Bytes that are no UTF-8 harm nothing in a comment: each becomes U+FFFD."""
    return text and text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
