"""`switchboard serve`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from switchboard.cli.options import AsJson
from switchboard.cli.output import print_json
from switchboard.log import configure_logging
from switchboard.settings import Settings, load_settings


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[
        str | None, typer.Option("--port", help="Port to listen on; 0 takes a free one.")
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option("--data-dir", help="Where the database and the token file lie.")
    ] = None,
    database_url: Annotated[
        str | None, typer.Option("--database-url", help="Absent: SQLite in the data directory.")
    ] = None,
    public_url: Annotated[
        str | None, typer.Option("--public-url", help="The URL by which agents call the service.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the service until SIGTERM or Ctrl-C."""
    # The service costs half a second to import; no other command should pay for it.
    from agent_transport.listener import run
    from switchboard.process import Ready
    from switchboard.process import serve as serve_service

    flags = {
        "host": host,
        "port": port,
        "data_dir": data_dir,
        "database_url": database_url,
        "public_url": public_url,
    }
    settings = load_settings(flags, os.environ, Path.cwd())
    configure_logging(settings.log_level, settings.log_format)

    def on_ready(ready: Ready) -> None:
        if as_json:
            print_json(asdict(ready) | {"data_dir": str(ready.data_dir)})
            sys.stdout.flush()
        elif sys.stdout.isatty():
            _print_next_steps(ready.url, settings)

    code = run(serve_service(settings, on_ready))
    if code:
        raise typer.Exit(code)


def _print_next_steps(url: str, settings: Settings) -> None:
    print(f"Switchboard serves at {url} (Ctrl-C ends it). Next, in another terminal:\n")
    where = _data_dir_option(settings)
    for command, outcome in (
        ("endpoint vend scout --queue inbox", "shows, once, what to paste where the agent runs"),
        ("todo add 'Say hello' --queue inbox", "rings the agent's doorbell"),
        ("todo list --state done", "shows it when the agent has completed it"),
    ):
        print(f"  {_program()} {command}{where}    # {outcome}")
    print(flush=True)


def _program() -> str:
    """How this command was called; its bare name where the shell finds the same one."""
    called = sys.argv[0]
    on_path = shutil.which("switchboard")
    if on_path is not None and Path(on_path).resolve() == Path(called).resolve():
        return "switchboard"
    return shlex.quote(os.path.relpath(called))


def _data_dir_option(settings: Settings) -> str:
    """The option that leads other commands here, unless they would find the way without it."""
    source = next(one for one in settings.sources if one.name == "data_dir")
    is_default = source.origin == "default"
    return "" if is_default else f" --data-dir {shlex.quote(str(settings.data_dir))}"
