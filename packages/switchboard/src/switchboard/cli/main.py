"""The command's entry point: which commands there are, and how failures become exit codes."""

from __future__ import annotations

import sys

import typer

from switchboard.cli import config, endpoint, queue, serve, todo, version
from switchboard.cli.exit_code import ExitCode
from switchboard.errors import SettingsError, SwitchboardError

application = typer.Typer(
    name="switchboard",
    help="A durable, scoped, revocable place from which AI agents take work.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
application.command("serve")(serve.serve)
application.add_typer(endpoint.commands, name="endpoint")
application.add_typer(todo.commands, name="todo")
application.add_typer(queue.commands, name="queue")
application.add_typer(config.commands, name="config")
application.command("version")(version.version)


def main() -> None:
    """Run the command line and leave with one of the documented exit codes."""
    try:
        application()
    except SettingsError as error:
        _leave(str(error), ExitCode.USAGE)
    except SwitchboardError as error:
        _leave(str(error), ExitCode.FAILED)


def _leave(message: str, code: ExitCode) -> None:
    print(message, file=sys.stderr)
    sys.exit(int(code))
