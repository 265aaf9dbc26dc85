"""Every error that Duly raises on purpose.

One root, so a caller can catch all of them. A class's docstring is its default message; a message
names the thing that is wrong and what would be right. Losing a race is never an error: the
functions that can lose one return that they did.
"""

from __future__ import annotations

import inspect


class DulyError(Exception):
    """Duly could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.cleandoc(self.__doc__ or ""))


class InvalidSchedule(DulyError):
    """The schedule is not one that Duly understands.

    Args:
        message: what is wrong and a form that would be right, one or two sentences.
        field: the part of the schedule at fault as people call it ("minute", "day of week",
            "zone", "anchor"), or None when it is the whole text.
        part: the offending characters, as written.
    """

    def __init__(self, message: str, *, field: str | None = None, part: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.part = part


class NeverFires(InvalidSchedule):
    """The schedule is well formed, and no instant satisfies it."""


class UnknownZone(InvalidSchedule):
    """The time zone is not a name of the IANA database."""


class InvalidJob(DulyError):
    """The job cannot be registered as described.

    Args:
        message: what is wrong and what would be right.
        pointer: a JSON pointer (RFC 6901) into the request's body.
    """

    def __init__(self, message: str, *, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class NameTaken(DulyError):
    """Another job of the team has this name."""

    def __init__(self, name: str, job_id: str) -> None:
        super().__init__(
            f"the name {name!r} belongs to job {job_id}, which differs from this one; "
            f"edit {job_id}, or choose another name"
        )
        self.job_id = job_id


class NoSuchJob(DulyError):
    """There is no such job."""


class NoSuchRun(DulyError):
    """There is no such run."""


class KeyReused(DulyError):
    """This Idempotency-Key was used with another body; use a new key for a new request."""


class InvalidConfig(DulyError):
    """The configuration cannot be used."""


class UnknownSchema(DulyError):
    """The database was written by a newer Duly; start that version, or restore a backup."""


class StoreUnavailable(DulyError):
    """The database did not answer in time; the call may or may not have taken effect."""


class ArchiveUnavailable(StoreUnavailable):
    """The archive did not answer; the change may or may not have been made."""
