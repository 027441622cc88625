"""Options that many commands share."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Url = Annotated[
    str | None,
    typer.Option("--url", help="The service. Default: SWITCHBOARD_URL, or the one running here."),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="An operator token. Default: SWITCHBOARD_TOKEN, or the data directory's own.",
    ),
]
DataDir = Annotated[
    str | None, typer.Option("--data-dir", help="The data directory of the service here.")
]
