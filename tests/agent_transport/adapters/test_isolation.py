"""What importing the package brings along: without an extra, nothing but the standard library."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {"pydantic-ai": "pydantic_ai", "openai-agents": "agents"}

_CODE = """
import importlib, sys
before = set(sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
brought = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(brought - sys.stdlib_module_names - {"agent_transport"}))
"""


def brought_by(*modules: str) -> set[str]:
    """The foreign packages that a fresh interpreter has loaded after importing `modules`."""
    run = subprocess.run(
        [sys.executable, "-c", _CODE, *modules],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "agent_transport",
        "agent_transport.adapters",
        "agent_transport.adapters.command",
        "agent_transport.adapters.function",
        "agent_transport.local_session",
        "agent_transport.testing",
        "agent_transport.transport",
    ],
)
def test_the_base_brings_no_foreign_package(module: str) -> None:
    assert brought_by(module) == set()


@pytest.mark.parametrize("library", EXTRAS.values())
def test_each_agent_library_comes_with_its_own_adapter_alone(library: str) -> None:
    extra = next(name for name, package in EXTRAS.items() if package == library)
    brought = brought_by(f"agent_transport.adapters.{extra.replace('-', '_')}")
    assert brought & set(EXTRAS.values()) == {library}
