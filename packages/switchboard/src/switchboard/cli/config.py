"""`switchboard config show`."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from switchboard.cli.options import AsJson, DataDir
from switchboard.cli.output import print_json, print_table
from switchboard.settings import load_settings

commands = typer.Typer(no_args_is_help=True, help="What the service is told.")


@commands.callback()
def _group() -> None:
    """Keep `show` a command of its own."""


@commands.command("show")
def show(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Print every setting, its value and where it came from. Secrets are masked."""
    settings = load_settings({"data_dir": data_dir}, os.environ, Path.cwd())
    if as_json:
        rows = [
            {"name": one.name, "value": one.shown, "source": one.origin} for one in settings.sources
        ]
        print_json({"settings": rows, "warnings": list(settings.warnings)})
        return
    print_table(
        ("setting", "value", "from"),
        [(one.name, one.shown, one.origin) for one in settings.sources],
        "no settings",
    )
