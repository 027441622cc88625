"""The configuration blocks that a reveal shows. Every block is HTTP wiring (SPEC-0014 wiring).

Each block exists twice: with the credential in it, and with an environment variable in its
place for files that are shared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

SERVER_NAME = "switchboard"
CREDENTIAL_VARIABLE = "SWITCHBOARD_CREDENTIAL"
"""What the blocks without a secret read the credential from, on the agent's machine."""


@dataclass(frozen=True, slots=True)
class Block:
    """One thing to paste: which client reads it, from which file, and the text."""

    client: str
    file: str
    text: str


def mcp_json(url: str, credential: str) -> dict[str, object]:
    """The `.mcp.json` document of SPEC-0014, to the letter."""
    return {"mcpServers": {SERVER_NAME: _server(url, credential, kind="http")}}


def blocks(url: str, credential: str) -> tuple[Block, ...]:
    """The blocks that carry the credential."""
    return (
        Block("Claude Code", ".mcp.json", _json(mcp_json(url, credential))),
        Block("VS Code", ".vscode/mcp.json", _json(_vs_code(url, credential))),
        Block("Cursor", ".cursor/mcp.json", _json(_cursor(url, credential))),
    )


def blocks_with_variable(url: str) -> tuple[Block, ...]:
    """The blocks that name a variable in place of the credential."""
    return (
        Block("Claude Code", ".mcp.json", _json(mcp_json(url, "${" + CREDENTIAL_VARIABLE + "}"))),
        Block("Codex", "~/.codex/config.toml", _codex(url)),
        Block(
            "VS Code",
            ".vscode/mcp.json",
            _json(_vs_code(url, "${env:" + CREDENTIAL_VARIABLE + "}")),
        ),
        Block(
            "Cursor", ".cursor/mcp.json", _json(_cursor(url, "${env:" + CREDENTIAL_VARIABLE + "}"))
        ),
    )


def _server(url: str, credential: str, *, kind: str | None) -> dict[str, object]:
    server: dict[str, object] = {"type": kind} if kind else {}
    return server | {"url": url, "headers": {"Authorization": f"Bearer {credential}"}}


def _vs_code(url: str, credential: str) -> dict[str, object]:
    return {"servers": {SERVER_NAME: _server(url, credential, kind="http")}}


def _cursor(url: str, credential: str) -> dict[str, object]:
    return {"mcpServers": {SERVER_NAME: _server(url, credential, kind=None)}}


def _codex(url: str) -> str:
    return (
        f"[mcp_servers.{SERVER_NAME}]\n"
        f"url = {json.dumps(url)}\n"
        f'bearer_token_env_var = "{CREDENTIAL_VARIABLE}"'
    )


def _json(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2)
