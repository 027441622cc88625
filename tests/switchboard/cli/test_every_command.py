"""What holds for each command, whichever it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.core import TyperCommand

from tests.docs.help_texts import commands
from tests.switchboard.cli.test_exit_codes import run

COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json_when_asked(name: str) -> None:
    command: TyperCommand = COMMANDS[name]
    assert "--json" in {option for param in command.params for option in param.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_explains_each_option(name: str) -> None:
    command: TyperCommand = COMMANDS[name]
    assert command.help
    unexplained = [param.name for param in command.params if not getattr(param, "help", None)]
    assert not [param for param in unexplained if param != "help"]


RELIED_ON = """
serve, version, config show,
endpoint vend, endpoint list, endpoint show, endpoint set, endpoint rotate, endpoint revoke,
todo add, todo list, todo show, todo retry, todo cancel, todo release,
queue list, queue pause, queue resume, queue set
"""


def test_the_commands_that_scripts_rely_on_are_there() -> None:
    assert {name.strip() for name in RELIED_ON.split(",")} <= set(COMMANDS)


def test_an_unknown_option_is_a_usage_error(tmp_path: Path) -> None:
    ended = run("endpoint", "list", "--verbose", where=tmp_path)
    assert ended.returncode == 2
    assert "--verbose" in ended.stderr
