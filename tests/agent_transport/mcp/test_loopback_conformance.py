"""The official conformance suite against a session with its fixture tools, over the loopback host.

A session's answers are text: its envelope. So what the suite wants to see as an image or a sound,
and all that is more than tools, cannot come; each such scenario is named here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from agent_transport.session import CancelSignal, JsonObject, RuntimeTool, ToolEnvelope
from agent_transport.testing import FakeSession
from tests.agent_transport.mcp.conformance_tools import SCHEMAS
from tests.agent_transport.mcp.hosts import loopback
from tests.interop import node

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
BEARER = node.INTEROP / "bearer.mjs"

BOTH = {
    "dns-rebinding-protection": 2,
    "json-schema-2020-12": 8,
    "tools-call-error": 2,
    "tools-call-simple-text": 2,
}
PASSED = {
    "2025-11-25": BOTH | {"ping": 2, "server-initialize": 2, "tools-list": 3},
    "2026-07-28": BOTH
    | {
        "http-custom-header-server-validation": 10,
        "http-header-validation": 14,
        "input-required-result-ignore-extra-params": 2,
        "input-required-result-unsupported-methods": 2,
        "server-sse-multiple-streams": 1,
        "tools-list": 4,
        # The checks of the next three that fail want more than tools, see NOT_FOR_US.
        "caching": 4,
        "input-required-result-validate-input": 2,
        "server-stateless": 23,
    },
}
"""Scenarios of a stateless server with tools, and how many of their checks must succeed."""

NOT_FOR_US = re.compile(
    "completion-complete|elicitation-.*|logging-set-level|prompts-.*|resources-.*|sep-2164-.*"
    # Requests to the client, and results that ask for input.
    "|tools-call-(elicitation|sampling|with-logging|with-progress)|input-required-result-.*"
    # Content of other kinds than text.
    "|tools-call-(audio|embedded-resource|image|mixed-content)"
    # Streams of sessions, which a stateless host does not have.
    "|server-sse-.*"
    # Of scenarios that otherwise pass: lists that are not offered, and a tool that only a client
    # with sampling may call.
    "|caching|server-stateless"
)


async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
    if name == "test_error_handling":
        return ToolEnvelope(False, error="This tool intentionally returns an error for testing")
    return ToolEnvelope(True, result="This is a simple text response for testing.")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_all_scenarios_of_a_session_with_tools_pass(version: str, tmp_path: Path) -> None:
    session = FakeSession([RuntimeTool(name, name, SCHEMAS[name]) for name in sorted(SCHEMAS)])
    session.invoke = invoke
    async with loopback(session) as it:
        environment = {"MCP_BEARER": it.listening.token, "NODE_OPTIONS": f"--import {BEARER}"}
        async with node.started(
            node.module(SUITE),
            *("server", "--url", it.listening.url, "--suite", "all"),
            *("--spec-version", version, "--output-dir", str(tmp_path)),
            cwd=tmp_path,
            env=environment,
        ) as suite:
            ended = await suite.ended()
    told = _statuses(tmp_path)
    assert told, ended.out[-4000:] + ended.err[-1000:]
    succeeded = {name: told.get(name, Counter())["SUCCESS"] for name in PASSED[version]}
    assert succeeded == PASSED[version]
    failed = {name for name, counts in told.items() if counts["FAILURE"] or counts["WARNING"]}
    assert not {name for name in failed if not NOT_FOR_US.fullmatch(name)}


def _statuses(results: Path) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for file in results.glob("*/checks.json"):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        checks = json.loads(file.read_text("utf-8"))
        found[name] = Counter(check["status"] for check in checks)
    return found
