"""What a reveal offers to paste."""

from __future__ import annotations

import json
import tomllib

import pytest

from switchboard.cli.reveal import print_vended
from switchboard.wiring import blocks, blocks_with_variable, mcp_json
from tests.specification import requirement

URL = "https://board.example/mcp/bot-01234567"
CREDENTIAL = "sbk_" + "a" * 43


@requirement("SPEC-0014/wiring/reveal-http-only")
def test_the_mcp_json_block_is_http_with_url_and_bearer_and_nothing_else() -> None:
    assert mcp_json(URL, CREDENTIAL) == {
        "mcpServers": {
            "switchboard": {
                "type": "http",
                "url": URL,
                "headers": {"Authorization": f"Bearer {CREDENTIAL}"},
            }
        }
    }


@requirement("SPEC-0014/wiring/reveal-http-only")
def test_every_block_parses_names_the_url_and_no_command() -> None:
    for block in (*blocks(URL, CREDENTIAL), *blocks_with_variable(URL)):
        parse = tomllib.loads if block.file.endswith(".toml") else json.loads
        text = json.dumps(parse(block.text))
        assert URL in text
        assert not any(word in text for word in ("command", "args", "stdio", "npx"))


def test_blocks_for_shared_files_hold_no_secret() -> None:
    assert all("sbk_" not in block.text for block in blocks_with_variable(URL))


@requirement("SPEC-0014/wiring/vend-reveal")
def test_the_printed_reveal_shows_the_block_and_names_no_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_vended(
        {
            "url": URL,
            "credential": CREDENTIAL,
            "endpoint": {"slug": "bot-1", "queues": ["q"]},
            "replaced": None,
        }
    )
    shown = capsys.readouterr().out
    assert json.dumps(mcp_json(URL, CREDENTIAL), indent=2) in shown
    assert "mcp add" not in shown
    assert "command" not in shown
