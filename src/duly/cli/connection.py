"""Which server to ask, and with which token; nothing else here reads the environment.

server: --server, else DULY_URL, else DATA/address (written by `duly up`), else port 7437 here
token:  DULY_TOKEN, else DATA/token
DATA:   --data, else DULY_DATA, else `duly` in the user's data folder
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duly.cli.exits import InvalidInput, TokenMissing, TokenRefused, told
from duly.config import DEFAULT_PORT, default_data_dir
from duly.errors import DulyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from duly.sdk import ApiError, Client

Server = Annotated[
    str | None,
    typer.Option(
        help="The server's address (else DULY_URL, else what `duly up` wrote).",
        show_default=False,
        metavar="URL",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(help="Duly's data folder, for address and token.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, as the API gives it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of every command that asks a server."""

    server: Server = None
    data: Data = None
    as_json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Asked):
    """The options of those that show times as well."""

    utc: Annotated[
        bool, typer.Option("--utc", help="Show times in UTC, not in this machine's zone.")
    ] = False


@dataclass(frozen=True, slots=True)
class Connection:
    """An address and a token.

    Args:
        token: empty where none was found; then the server may still be asked, and refuses.
        token_from: where the token came from, or should have.
    """

    url: str
    token: str
    token_from: str


@contextmanager
def connected(asked: Asked) -> Iterator[Client]:
    """A client for one command; its errors are told, and end the command."""
    with told(as_json=asked.as_json):
        where = find(asked.server, asked.data, os.environ)
        from duly.sdk import ApiError, Client  # httpx takes long to load

        with Client(where.url, where.token) as client:
            try:
                yield client
            except ApiError as error:
                raise _refused(where, error) from error


@contextmanager
def answering(asked: Asked) -> Iterator[tuple[Client | None, str | None]]:
    """A client if a server answers and lets us in; else None, and why."""
    where = find(asked.server, asked.data, os.environ)
    from duly.sdk import ApiError, Client

    with Client(where.url, where.token) as client:
        try:
            client.status()
            why_not = None
        except ApiError as error:
            why_not = str(_refused(where, error))
        except DulyError as error:
            why_not = str(error)
        yield (None, why_not) if why_not else (client, None)


def find(server: str | None, data: Path | None, environ: Mapping[str, str]) -> Connection:
    """Where to ask, and as whom. Raises InvalidInput where the address is none."""
    folder = data or default_data_dir(environ)
    url = server or environ.get("DULY_URL") or _first_line(folder / "address")
    url = url or f"http://127.0.0.1:{DEFAULT_PORT}"
    if not re.match(r"https?://[^/\s]", url):
        raise InvalidInput(
            f"{url!r} is no server address; write it like http://127.0.0.1:{DEFAULT_PORT}"
        )
    token, token_from = environ.get("DULY_TOKEN", "").strip(), "DULY_TOKEN"
    if not token:
        token, token_from = _first_line(folder / "token"), str(folder / "token")
    if not (token.isascii() and (token.isprintable() or not token)):
        raise InvalidInput(f"the token of {token_from} holds characters that no token has")
    return Connection(url, token, token_from)


def machine_zone_name() -> str | None:
    """The time zone that the environment names, if any."""
    return os.environ.get("TZ")


def _refused(where: Connection, error: ApiError) -> DulyError:
    """A refusal in the words of whoever has to mend it."""
    if error.status != 401:
        return error
    if not where.token:
        return TokenMissing(
            f"no token: {where.token_from} is not there or cannot be read; set DULY_TOKEN, "
            "name the data folder with --data, or run as the user who started Duly"
        )
    return TokenRefused(
        f"the server at {where.url} does not accept the token of {where.token_from}; "
        "set DULY_TOKEN, or name the server's data folder with --data"
    )


def _first_line(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip().partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        return ""
