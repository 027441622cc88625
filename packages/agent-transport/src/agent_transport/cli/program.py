"""`agent-transport`: what it was told is judged as a whole before anything of it is done.

0   it served, and was stopped or left
1   it could not serve, or a fault ended it
2   what it was told cannot be meant
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NoReturn

from agent_transport.cli.arguments import Arguments, new_parser, read
from agent_transport.errors import ConfigurationError

_OPTIONS = {
    "scopes": "--scope",
    "submission.name": "--submit-name",
    "subjects": "--allow-subject",
    "clients": "--allow-client",
    "trusted_proxies": "--trusted-proxy",
}
"""Fields of a `ConfigurationError` whose option has another name."""


def main(words: Sequence[str] | None = None) -> NoReturn:
    """Do what the words say, by default those of the command line, and exit."""
    parser = new_parser()
    given = read(parser, words)
    missing = _missing_extra(given)
    if missing is not None:
        print(f"agent-transport: this needs the extra '{missing}'", file=sys.stderr)
        sys.exit(1)
    # Only now: it imports the MCP SDK, which takes half a second and need not be installed.
    from agent_transport.cli.serve import carrier_for, run

    try:
        carrier = carrier_for(given)
    except ConfigurationError as error:
        option = _OPTIONS.get(error.field, f"--{error.field.replace('_', '-')}")
        parser.error(f"{option}: {error.rule}")
    sys.exit(run(given.target, carrier))


def _missing_extra(given: Arguments) -> str | None:
    if find_spec("mcp") is None:
        return "mcp"
    return "jwt" if given.public_url and find_spec("jwt") is None else None
