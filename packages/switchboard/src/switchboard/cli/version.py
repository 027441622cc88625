"""`switchboard version`."""

from __future__ import annotations

from switchboard import __version__
from switchboard.cli.options import AsJson
from switchboard.cli.output import print_json


def version(as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": __version__})
    else:
        print(f"switchboard {__version__}")
