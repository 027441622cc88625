"""The reference pages name everything that there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from switchboard.cli.exit_code import ExitCode
from switchboard.cli.main import application
from switchboard.domain.endpoint import Verb
from switchboard.domain.refusal import Code, Reason
from switchboard.settings_table import SETTINGS, Setting
from tests.specification import requirement

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").glob("*/README.md")]
)


@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])
def test_each_setting_stands_in_the_reference_with_its_default(setting: Setting) -> None:
    rows = (GUIDE / "settings.md").read_text("utf-8").splitlines()
    row = next((row for row in rows if f"`{setting.variable}`" in row), None)
    assert row is not None
    default = setting.default
    assert not default or f"`{default}`" in row


def test_each_command_and_option_stands_in_the_reference() -> None:
    page = (GUIDE / "cli.md").read_text("utf-8")
    missing = [name for name, command in _commands() if not _documented(page, name, command)]
    assert not missing


def test_each_verb_error_code_and_reason_stands_in_the_reference() -> None:
    page = (GUIDE / "tools.md").read_text("utf-8")
    assert not [word for word in (*Verb, *Code, *Reason) if f"`{word}`" not in page]


def test_each_exit_code_stands_in_the_reference() -> None:
    page = (GUIDE / "cli.md").read_text("utf-8")
    assert not [code for code in ExitCode if f"| {int(code)} |" not in page]


@requirement("SPEC-0014/wiring/docs-http-only")
def test_every_wiring_block_in_the_documentation_is_http() -> None:
    seen = 0
    for page in PAGES:
        for block in re.findall(r"```json\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for server in json.loads(block).get("mcpServers", {}).values():
                seen += 1
                assert server["type"] == "http", page.name
                assert "command" not in server, page.name
    assert seen


def _commands() -> Iterator[tuple[str, TyperCommand]]:
    root = get_command(application)
    assert isinstance(root, TyperGroup)
    for name, command in root.commands.items():
        inner = command.commands if isinstance(command, TyperGroup) else {"": command}
        for one, leaf in inner.items():
            assert isinstance(leaf, TyperCommand)
            yield f"{name} {one}".strip(), leaf


def _documented(page: str, name: str, command: TyperCommand) -> bool:
    section = re.search(rf"^### `{name}`\n(.*?)(?=^### |^## |\Z)", page, re.M | re.S)
    options = [opt for param in command.params for opt in param.opts if opt.startswith("--")]
    shared = {"--url", "--token", "--data-dir", "--json", "--help"}
    return section is not None and all(
        f"`{option}`" in section[1] for option in options if option not in shared
    )
