"""Writes the reference of the commands from the commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand

from tests.docs.help_texts import commands


def command_reference() -> str:
    """A section for each command: what it does, its arguments, and its own options."""
    return "\n".join(line for name, command in commands() for line in _section(name, command))


def _section(name: str, command: TyperCommand) -> Iterator[str]:
    own = [param for param in command.params if param.name not in _shared(command)]
    yield from (f"### `{name}`", "", " ".join((command.help or "").split()), "")
    for param in own:
        yield _line(param)
    if own:
        yield ""


def _shared(command: TyperCommand) -> set[str]:
    """The options that are described once, at the head of the page."""
    talks_to_a_service = any(param.name == "url" for param in command.params)
    return {"url", "token", "data_dir", "as_json"} if talks_to_a_service else {"as_json"}


def _line(param: Any) -> str:
    options = [opt for opt in param.opts if opt.startswith("--")]
    word = f"`{options[0]}`" if options else f"`{param.name.upper()}`"
    remark = " (repeatable)" if param.multiple or param.nargs == -1 else ""
    return f"- {word}{remark}: {param.help}"
