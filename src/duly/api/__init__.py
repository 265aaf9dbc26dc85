"""The HTTP API: registers, edits, pauses and triggers jobs; serves history.

It never plans and never runs a command. JSON's shapes belong to `duly.wire`, what happens to
`duly.flow`; this package is HTTP: routes, statuses, headers, pages, keys and refusals.

    request ─► guard ─► route ─► wire (read) ─► flow / store ─► wire (show) ─► answer
                 │         └────────────── errors ──────────────► problems ─► problem+json
                 └ 400 401 403 413 415 421
"""

from duly.api.app import create_app

__all__ = ["create_app"]
