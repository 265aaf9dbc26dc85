"""The `duly` command: every group of commands, and what the process says at its end."""

from __future__ import annotations

import sys
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from duly import __version__
from duly.cli.exits import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORK, _APART = "Jobs and runs", "Without a server"
# Each group's module, and where the help shows it. Typer builds every command that it is told
# of, which takes longer than most commands do: so it is told of those only that may be meant.
_GROUPS: dict[str, tuple[str, str]] = {
    "jobs": ("duly.cli.jobs", _WORK),
    "runs": ("duly.cli.runs", _WORK),
    "import": ("duly.cli.crontab_import", _WORK),
    "schedule": ("duly.cli.schedule", _APART),
}


def build(argv: Sequence[str] = ()) -> typer.Typer:
    """The application: with all of its commands, or with those that `argv` can mean."""
    app = typer.Typer(
        name="duly",
        no_args_is_help=True,
        help="Run jobs on time and once.",
        epilog=_exit_codes(),
        # A traceback is for a fault of Duly's; it must not show the values of variables.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    meant = argv[0] if argv and argv[0] in (*_GROUPS, "status") else None
    for name, (module, panel) in _GROUPS.items():
        if meant in (None, name):
            group = _narrowed(import_module(module).app, argv[1:])
            app.add_typer(group, name=name, rich_help_panel=panel)
    if meant in (None, "status"):
        from duly.cli.status import status

        app.command(rich_help_panel=_WORK)(status)
    if meant is None:
        from duly.cli import services

        services.register(app)
    return app


def run() -> None:
    """Run this process's command; ends by SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its number, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    build(sys.argv[1:])(prog_name="duly")


def _narrowed(group: typer.Typer, argv: Sequence[str]) -> typer.Typer:
    """The group with the one command that `argv` begins with, or whole where that is none."""
    meant = [command for command in group.registered_commands if [command.name] == [*argv[:1]]]
    if not meant:
        return group
    narrowed = copy(group)
    narrowed.registered_commands = meant
    return narrowed


def _exit_codes() -> str:
    codes = [f"{code.value} {meaning}" for code, meaning in MEANINGS.items()]
    return f"Exit codes: {'; '.join(codes)}."


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"duly {__version__}\n")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
]


def _main(version: Version = False) -> None:
    """Run jobs on time and once."""
