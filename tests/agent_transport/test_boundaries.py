"""What the MCP package knows of the rest, and what of the rest knows it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import agent_transport
from tests.specification import requirement

SOURCE = Path(agent_transport.__file__).resolve().parent
MCP = SOURCE / "mcp"
SDK = ("mcp", "mcp_types", "starlette", "pydantic", "anyio", "orjson")

CONTRACTS = {"errors", "lifecycle", "session", "transport"}
"""What the MCP package serves, and what it is: no session of its own, no adapter, no command."""

PARTS = {"admission", "listen_address", "listener", "parent"}
"""Pieces under it that know neither sessions nor MCP."""

CRYPTOGRAPHY = {"jwt", "cryptography", "agent_transport.admission.jwt"}

COMPOSITION = {"cli"}
"""Where a transport is chosen for a session; it must know both."""


@requirement("agent-transport/boundary/verifier-injected")
def test_the_mcp_package_reaches_for_no_cryptography() -> None:
    imported = {name for path in MCP.rglob("*.py") for name in _imports(path)}
    assert "agent_transport.admission" in imported
    assert not {
        name
        for name in imported
        for forbidden in CRYPTOGRAPHY
        if name == forbidden or name.startswith(f"{forbidden}.")
    }


@requirement("agent-transport/boundary/contracts-only")
def test_the_mcp_package_knows_contracts_and_parts_without_sessions_alone() -> None:
    known = {part for path in MCP.rglob("*.py") for part in _own_parts(path)} - {"mcp"}
    assert known <= CONTRACTS | PARTS
    for part in PARTS:
        files = [SOURCE / f"{part}.py", *(SOURCE / part).rglob("*.py")]
        of_part = {name for path in files if path.exists() for name in _own_parts(path)}
        assert not of_part & {"mcp", "session", "local_session"}


@requirement("agent-transport/boundary/no-dependents")
def test_nothing_but_the_command_line_imports_the_mcp_package() -> None:
    dependents = {
        path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for path in SOURCE.rglob("*.py")
        if MCP not in path.parents and "mcp" in _own_parts(path)
    }
    assert dependents <= COMPOSITION


WITHOUT_SDK = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
for module in MODULES:
    importlib.import_module(module)
import agent_transport.testing
print(len(MODULES))
"""


@requirement("agent-transport/boundary/sdk-isolated")
def test_everything_but_the_mcp_package_is_imported_without_the_sdk() -> None:
    modules = [
        ".".join(("agent_transport", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in sorted(SOURCE.rglob("*.py"))
        if MCP not in path.parents and path.name != "__init__.py" and not _needs_an_extra(path)
    ]
    assert len(modules) > 40
    program = f"ABSENT = {SDK!r}\nMODULES = {modules!r}\n{WITHOUT_SDK}"
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == (str(len(modules)), "")


def _needs_an_extra(path: Path) -> bool:
    """An adapter of another library needs that library; the command line needs a carrier."""
    first = path.relative_to(SOURCE).parts[0]
    return first in {"cli", "adapters"}


def _own_parts(path: Path) -> set[str]:
    """The top-level parts of this distribution that a file imports."""
    names = (name.split(".") for name in _imports(path))
    return {name[1] for name in names if name[0] == "agent_transport" and len(name) > 1}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
