"""One repository, one version number."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import agent_transport
import switchboard

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = ("pyproject.toml", "packages/agent-transport/pyproject.toml")


def test_both_distributions_and_both_packages_state_the_same_version() -> None:
    service = _project("packages/switchboard/pyproject.toml")
    versions = {path: _project(path)["version"] for path in PROJECTS}
    versions["service"] = service["version"]
    versions["switchboard"] = switchboard.__version__
    versions["agent_transport"] = agent_transport.__version__
    assert len(set(versions.values())) == 1, versions
    # The service is released with the library that it was tested with, no other.
    assert f"switchboard-agent-transport[mcp]=={service['version']}" in service["dependencies"]


def test_the_change_log_has_an_entry_for_this_version() -> None:
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## [{switchboard.__version__}]" in log


def _project(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text("utf-8"))["project"]
