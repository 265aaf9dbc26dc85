"""What an import did, or would do: as JSON and in words. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from duly.cli.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from duly.cli.crontab_files import CrontabFile
    from duly.cli.crontab_jobs import Line

_NOTES = (
    "cron ends no command; the new jobs end after 7 days (--timeout of `duly jobs edit`)",
    "as under cron, these jobs run side by side, are not tried again and catch nothing up",
)


@dataclass(frozen=True, slots=True)
class Told:
    """Something to say about a file, or a line of it."""

    file: str
    line: int | None
    text: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a line that holds a job.

    Args:
        action: added, changed, unchanged, would_add or would_change.
        changes: the fields of the job that differed.
    """

    line: Line
    action: str
    job_id: str | None
    name: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gone:
    """A job whose line is no longer in its file.

    Args:
        action: kept, deleted or would_delete.
        reason: why it was kept although it should have been deleted.
    """

    file: str
    job: Mapping[str, Any]
    action: str
    reason: str | None = None


@dataclass(slots=True)
class Report:
    """Everything that an import has to tell."""

    zone: str
    zone_from: str
    dry_run: bool = False
    not_asked: str | None = None
    not_looked: str | None = None
    files: list[CrontabFile] = field(default_factory=list)
    skipped: list[Told] = field(default_factory=list)
    jobs: list[Entry] = field(default_factory=list)
    reported: list[Told] = field(default_factory=list)
    warnings: list[Told] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """What holds for the import as a whole."""
        notes = [f"lines without CRON_TZ are in {self.zone} ({self.zone_from})"]
        if any(entry.action in {"added", "would_add"} for entry in self.jobs):
            notes += _NOTES
        if self.not_asked:
            notes.append(f"compared with no server, so every line counts as new: {self.not_asked}")
        if self.not_looked:
            notes.append(
                f"there are too many jobs to look for files gone from {self.not_looked}; "
                "`duly jobs list --source crontab:PATH` shows those of one file"
            )
        return notes


def document(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "dry_run": report.dry_run,
        "timezone": report.zone,
        "files": [file.path for file in report.files],
        "skipped": [{"file": told.file, "message": told.message} for told in report.skipped],
        "jobs": [_entry(entry) for entry in report.jobs],
        "reported": [_told(told) for told in report.reported],
        "warnings": [_told(told) for told in report.warnings],
        "gone": [_gone(gone) for gone in report.gone],
        "notes": report.notes,
    }


def text(report: Report) -> str:
    """The report in words, ending with a newline."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    for file in report.files:
        yield one_line(file.path)
        yield from (_row(entry) for entry in report.jobs if entry.line.file == file.path)
        for gone in report.gone:
            if gone.file == file.path:
                yield _gone_row(gone)
        yield from (_about(told, "not imported") for told in _of(report.reported, file.path))
        yield from (_about(told, "warning") for told in _of(report.warnings, file.path))
    read = {file.path for file in report.files}
    for path in dict.fromkeys(gone.file for gone in report.gone if gone.file not in read):
        yield f"{one_line(path)} (no longer there)"
        yield from (_gone_row(gone) for gone in report.gone if gone.file == path)
    for told in report.reported:
        if told.file not in read:
            yield f"{one_line(told.file)}\n  not imported: {one_line(told.message)}"
    for told in report.skipped:
        yield f"{one_line(told.file)}\n  skipped: {one_line(told.message)}"
    yield ""
    yield from (f"note: {one_line(note)}" for note in report.notes)
    yield _sum(report)


def _of(told: list[Told], file: str) -> list[Told]:
    return [entry for entry in told if entry.file == file]


def _row(entry: Entry) -> str:
    said = entry.line.said
    what = entry.action.replace("_", " ")
    if entry.changes:
        what += f" ({', '.join(entry.changes)})"
    parts = [f"line {entry.line.number}:", what, entry.job_id or "", entry.name]
    told = " ".join(one_line(part) for part in parts if part)
    return f"  {told}  [{one_line(said.schedule)}, {one_line(said.timezone)}]"


def _gone_row(gone: Gone) -> str:
    job = gone.job
    fate = {
        "kept": gone.reason or "kept; --prune deletes it",
        "deleted": "deleted",
        "would_delete": "would be deleted",
    }[gone.action]
    return f"  no longer in the file: {job['id']} {one_line(job.get('name') or '')} ({fate})"


def _about(told: Told, kind: str) -> str:
    where = "" if told.line is None else f"line {told.line}: "
    line = f"  {where}{kind}: {one_line(told.message)}"
    return f"{line}\n      {one_line(told.text)}" if told.text and kind == "not imported" else line


def _sum(report: Report) -> str:
    counts = Counter(entry.action for entry in report.jobs)
    counts.update(gone.action for gone in report.gone if gone.action != "kept")
    parts = [f"{count} {action.replace('_', ' ')}" for action, count in counts.items()]
    kept = sum(gone.action == "kept" for gone in report.gone)
    parts += [f"{kept} no longer in the file"] if kept else []
    parts += [f"{len(report.reported)} not imported"] if report.reported else []
    return f"{', '.join(parts) or 'nothing to import'}"


def _entry(entry: Entry) -> dict[str, Any]:
    said = entry.line.said
    return {
        "file": entry.line.file,
        "line": entry.line.number,
        "action": entry.action,
        "id": entry.job_id,
        "name": entry.name,
        "schedule": said.schedule,
        "timezone": said.timezone,
        "shell": said.shell,
        "stdin": said.stdin,
        "user": said.user,
        "env": dict(said.env),
        "description": said.description,
        "alert": said.alert,
        "owner": said.owner,
        "changes": list(entry.changes),
    }


def _told(told: Told) -> dict[str, Any]:
    return {"file": told.file, "line": told.line, "text": told.text, "message": told.message}


def _gone(gone: Gone) -> dict[str, Any]:
    job = gone.job
    return {
        "file": gone.file,
        "action": gone.action,
        "reason": gone.reason,
        "id": job["id"],
        "name": job.get("name"),
        "schedule": job["schedule"],
        "command": job["command"],
    }
