"""What may stand on the command line, and which of it may stand together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from agent_transport import __version__

_DESCRIPTION = """\
Serve one agent session as an MCP server.

Without further options it speaks over standard input and output, to the program that started it.
With --http-token-file it listens on 127.0.0.1 for whoever can read that file. With --public-url it
is an OAuth resource server, in plain HTTP behind a proxy that ends TLS.
"""
_TARGET = "a session, a function without arguments that makes one, or async def answer(prompt)"
_LISTED = (
    ("--scope", "SCOPE", "what a token must grant"),
    ("--allow-subject", "SUB", "a subject that may come in"),
    ("--allow-client", "ID", "a client that may come in, whoever uses it"),
    ("--trusted-proxy", "NET", "an address or network whose X-Forwarded-For is believed"),
)


class Arguments(argparse.Namespace):
    """The parsed command line."""

    target: str
    submit_name: str | None
    port: int | None
    http_token_file: str | None
    public_url: str | None
    issuer: str | None
    host: str | None
    scope: list[str]
    allow_subject: list[str]
    allow_client: list[str]
    trusted_proxy: list[str]


def new_parser() -> argparse.ArgumentParser:
    """The parser; options are never abbreviated, so that a new one breaks no script."""
    parser = argparse.ArgumentParser(prog="agent-transport", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        allow_abbrev=False,
        help="serve one agent session as an MCP server",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("target", metavar="MODULE:OBJECT", help=_TARGET)
    serve.add_argument("--submit-name", metavar="NAME", help="the tool that takes prompts")
    http = serve.add_argument_group("over HTTP")
    http.add_argument("--port", type=int, metavar="N", help="default: a free one")
    local = serve.add_argument_group("on this machine, with a bearer of one start")
    local.add_argument("--http-token-file", metavar="NEW_FILE", help="where the bearer is written")
    remote = serve.add_argument_group("beyond this machine, behind your OAuth server")
    remote.add_argument("--public-url", metavar="URL", help="what clients see and tokens are for")
    remote.add_argument("--issuer", metavar="URL", help="whose tokens are taken")
    for option, metavar, text in _LISTED:
        remote.add_argument(option, action="append", default=[], metavar=metavar, help=text)
    remote.add_argument("--host", metavar="IP", help="where to listen; default: 127.0.0.1")
    return parser


def read(parser: argparse.ArgumentParser, words: Sequence[str] | None) -> Arguments:
    """Parse. Exits with 2, and says why, when the words cannot be meant together."""
    given = parser.parse_args(words, Arguments())
    problem = _impossible(given)
    if problem is not None:
        parser.error(problem)
    return given


def _impossible(given: Arguments) -> str | None:
    module, _, name = given.target.partition(":")
    if not module or not name:
        return "MODULE:OBJECT: name a module, a colon, and what it holds"
    needed = {
        "--public-url": given.public_url,
        "--issuer": given.issuer,
        "--scope": given.scope,
        "--allow-subject or --allow-client": given.allow_subject or given.allow_client,
    }
    rest = {"--trusted-proxy": given.trusted_proxy, "--host": given.host}
    # An empty value was said too: a variable that is not set must not bring up another carrier.
    said = [option for option, value in {**needed, **rest}.items() if value not in (None, [])]
    if given.http_token_file is not None:
        return f"{said[0]} does not go with --http-token-file" if said else None
    if said:
        missing = [option for option in needed if option not in said]
        return f"{said[0]} needs {', '.join(missing)} too" if missing else None
    return None if given.port is None else "--port needs --http-token-file or --public-url"
