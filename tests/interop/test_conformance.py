"""The official conformance suite against a vended endpoint of the real service, in both eras.

The service has its own tools and none of the suite's, so each scenario that calls one of those
has nothing to call here; a fixture on the same carrier runs them. What is left is all that a
service with tools must do, admission in front of it included.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.interop import node
from tests.service_process import serving

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
RATES = {"RATE_ENDPOINT_PER_SECOND": "1000", "RATE_ENDPOINT_BURST": "1000"}
"""The suite sends in two seconds what an agent sends in minutes."""
BOTH = {"dns-rebinding-protection": 2}
PASSED = {
    "2025-11-25": BOTH
    | {
        "ping": 2,
        "server-initialize": 3,
        "server-session-lifecycle": 3,
        "server-sse-multiple-streams": 1,
        "tools-list": 3,
    },
    "2026-07-28": BOTH
    | {
        "http-header-validation": 14,
        "input-required-result-unsupported-methods": 2,
        "input-required-result-validate-input": 3,
        "server-sse-multiple-streams": 1,
        "tools-list": 4,
    },
}
"""Scenarios that want no fixture, with the checks that must be seen to succeed."""
IN_PART = {
    "2025-11-25": {},
    # The lists of prompts and resources are not offered; the suite's diagnostic tools are not here.
    "2026-07-28": {"caching": 4, "server-stateless": 24},
}
"""Scenarios of which single checks want more than tools, or a tool of the suite's own."""


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_an_endpoint_does_all_that_the_protocol_asks_of_its_server(
    version: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, settings=RATES) as service:
        vended = await service.vend()
        environment = {
            "MCP_BEARER": vended["credential"],
            "NODE_OPTIONS": f"--import {node.INTEROP / 'bearer.mjs'}",
        }
        results = tmp_path / "results"
        asked = ("server", "--url", vended["url"], "--suite", "all", "--spec-version", version)
        async with node.started(
            node.module(SUITE),
            *(*asked, "--output-dir", str(results)),
            cwd=tmp_path,
            env=environment,
        ) as suite:
            ended = await suite.ended()
        assert vended["credential"] not in service.log()
        assert "handler_failed" not in service.log()
    told = _statuses(results)
    wanted = PASSED[version] | IN_PART[version]
    succeeded = {name: told.get(name, Counter())["SUCCESS"] for name in wanted}
    assert succeeded == wanted, ended.out[-4000:] + ended.err[-1000:]
    failed = {name for name, counts in told.items() if counts["FAILURE"] or counts["WARNING"]}
    assert not failed & PASSED[version].keys()


def _statuses(results: Path) -> dict[str, Counter[str]]:
    """Scenario → how many of its checks ended how."""
    found: dict[str, Counter[str]] = {}
    for file in results.glob("*/checks.json"):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        checks = json.loads(file.read_text("utf-8"))
        found[name] = Counter(check["status"] for check in checks)
    return found
