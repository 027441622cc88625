"""Writes the reference of `agent-transport serve` from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from agent_transport.cli.arguments import new_parser


def library_command() -> str:
    """One line for each argument and option."""
    return "\n".join(_lines(new_parser()))


def _lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in _actions_of(parser):
        if action.metavar == "COMMAND":
            commands: Any = action.choices
            for command in commands.values():
                yield from _lines(command)
        elif "--help" not in action.option_strings:
            yield _line(action)


def _line(action: argparse.Action) -> str:
    word = action.option_strings[-1] if action.option_strings else str(action.metavar)
    value = f" {action.metavar}" if action.option_strings and action.metavar else ""
    many = " (repeatable)" if isinstance(action.default, list) else ""
    return f"- `{word}{value}`{many}: {action.help}"


def _actions_of(parser: Any) -> list[argparse.Action]:
    """argparse has no public list of them, and its help is laid out anew by each Python."""
    return parser._actions
