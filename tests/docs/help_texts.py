"""The help of every command, as a terminal of 80 columns shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from switchboard.cli.main import application

SNAPSHOT = Path(__file__).with_name("help.txt")
_TERMINAL = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}


def commands() -> Iterator[tuple[str, TyperCommand]]:
    """Each command that does something, by the words it is called with."""
    root = get_command(application)
    assert isinstance(root, TyperGroup)
    for name, command in root.commands.items():
        inner = command.commands if isinstance(command, TyperGroup) else {"": command}
        for one, leaf in inner.items():
            assert isinstance(leaf, TyperCommand)
            yield f"{name} {one}".strip(), leaf


def help_texts() -> str:
    """The help of the program and of each command, one after the other."""
    called = [[], *(name.split() for name, _ in commands())]
    return "\n".join(_help_of(words) for words in called)


def _help_of(words: list[str]) -> str:
    result = CliRunner().invoke(
        application, [*words, "--help"], prog_name="switchboard", env=_TERMINAL
    )
    assert result.exit_code == 0, result.output
    return f"$ switchboard {' '.join([*words, '--help'])}\n{result.output.rstrip()}\n"
