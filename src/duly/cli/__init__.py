"""The command line: asks the API on a person's behalf, reads schedules and crontabs locally.

It owns words, tables and exit codes. It decides nothing about jobs or runs, and reads no database.
"""

from __future__ import annotations


def main() -> None:
    """Run the `duly` command with this process's arguments; ends by SystemExit."""
    from duly.cli.app import run  # `import duly.cli` stays cheap

    run()
