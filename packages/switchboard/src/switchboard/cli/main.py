"""The command's entry point: which commands there are, and how failures become exit codes."""

from __future__ import annotations

import sys

import typer

from switchboard.cli import config, endpoint, queue, serve, todo, version
from switchboard.cli.exit_code import ExitCode
from switchboard.cli.output import tell_failure
from switchboard.errors import SettingsError, SwitchboardError
from switchboard.log import mask_secrets

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
        _leave("settings", str(error), ExitCode.USAGE)
    except SwitchboardError as error:
        _leave("failed", str(error), ExitCode.FAILED)
    except Exception as error:
        # No traceback: it quotes arguments, and these may hold a token.
        _leave("internal", f"{type(error).__name__}: {error}", ExitCode.FAILED)


def _leave(code: str, detail: str, exit_code: ExitCode) -> None:
    tell_failure(code, mask_secrets(detail), as_json="--json" in sys.argv[1:])
    sys.exit(int(exit_code))
