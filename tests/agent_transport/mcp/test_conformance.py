"""The protocol's official conformance suite against our carrier, in both eras."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.agent_transport.mcp.conformance_server import serving
from tests.interop import node

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
EXPECTED = Path(__file__).with_name("conformance_expected.yaml")
TOOLS = {
    "tools-list": (3, 4),
    "tools-call-simple-text": (2, 2),
    "tools-call-image": (2, 2),
    "tools-call-audio": (2, 2),
    "tools-call-embedded-resource": (2, 2),
    "tools-call-mixed-content": (2, 2),
    "tools-call-error": (2, 2),
    "tools-call-with-progress": (2, 2),
    "json-schema-2020-12": (8, 8),
    "server-sse-multiple-streams": (1, 1),
    "dns-rebinding-protection": (2, 2),
}
"""Checks that succeed at 2025-11-25 and at 2026-07-28."""

APPLICABLE = {
    "2025-11-25": {name: counts[0] for name, counts in TOOLS.items()}
    | {"server-initialize": 3, "server-session-lifecycle": 3, "ping": 2},
    "2026-07-28": {name: counts[1] for name, counts in TOOLS.items()}
    | {
        "server-stateless": 29,
        "caching": 4,
        "http-header-validation": 14,
        "http-custom-header-server-validation": 10,
        "input-required-result-unsupported-methods": 2,
        "input-required-result-validate-input": 3,
    },
}
"""What a tools-only server can run, with the checks that must be seen to succeed: a scenario
that finds nothing to check counts as passed in the suite's own summary. At 2025-11-25
server-sse-polling finds nothing, for a quick call is answered with plain JSON."""


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_all_scenarios_of_a_tools_only_server_pass(version: str, tmp_path: Path) -> None:
    async with serving() as url:
        ended = await node.run(
            node.module(SUITE),
            *("server", "--url", url, "--suite", "all", "--spec-version", version),
            *("--expected-failures", str(EXPECTED), "--output-dir", str(tmp_path)),
            cwd=tmp_path,
        )
    assert ended.code == 0, ended.out[-4000:] + ended.err[-1000:]
    succeeded = {name: counts["SUCCESS"] for name, counts in _statuses(tmp_path).items()}
    assert {name: succeeded.get(name) for name in APPLICABLE[version]} == APPLICABLE[version]


def test_each_expected_failure_has_its_reason_and_is_none_of_what_must_pass() -> None:
    reason, expected = False, set[str]()
    for line in EXPECTED.read_text("utf-8").splitlines():
        entry = line.strip()
        if entry.startswith("- "):
            assert reason, f"{entry} has no reason above it"
            expected.add(entry.removeprefix("- "))
        else:
            reason = entry.startswith("#") or (reason and bool(entry))
    assert len(expected) > 1
    assert not expected & (APPLICABLE["2025-11-25"].keys() | APPLICABLE["2026-07-28"].keys())


def _statuses(results: Path) -> dict[str, Counter[str]]:
    """Scenario → how many of its checks ended how, from the files that the suite leaves."""
    found: dict[str, Counter[str]] = {}
    for file in results.glob("*/checks.json"):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        checks = json.loads(file.read_text("utf-8"))
        found[name] = Counter(check["status"] for check in checks)
    return found
