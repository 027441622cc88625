"""The guide pages of this package, typed as they stand, show what they say."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_transport.testing import LIFECYCLE_CHECKS
from tests.agent_transport.cli.authorization_server import (
    CLIENT,
    SECRET,
    authorization_server,
)
from tests.agent_transport.cli.tls import Tls, proxy
from tests.docs.code_blocks import GUIDE, ROOT, code_blocks
from tests.docs.terminal import as_pattern, typed

STDIO = GUIDE / "agent-over-stdio.md"
LOOPBACK = GUIDE / "agent-on-this-machine.md"
REMOTE = GUIDE / "agent-behind-oauth.md"
TESTS = GUIDE / "agent-tests.md"
PROGRAMS = Path(sys.executable).parent


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where a reader of the first page is by then: the agent is written, the example at hand."""
    (agent,) = code_blocks(STDIO, "python")
    (tmp_path / "my_agent.py").write_text(agent.text)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


async def shown_by(page: Path, directory: Path, **variables: str) -> str:
    """What a terminal shows when all commands of the page are typed into it, in their order."""
    text = "".join(block.text for block in code_blocks(page, "sh"))
    path = f"{PROGRAMS}:{os.environ['PATH']}"
    async with typed(text, directory, PATH=path, **variables) as terminal:
        return await terminal.finish()


def assert_shows(page: Path, shown: str, *, after: int = 0) -> None:
    """Each example of what is shown, from the one with number `after` on, was seen."""
    for seen in code_blocks(page, "text")[after:]:
        assert re.search(as_pattern(seen.text), shown), shown
    assert "Traceback" not in shown


async def test_the_page_about_stdio(directory: Path) -> None:
    assert_shows(STDIO, await shown_by(STDIO, directory))


def test_the_entry_for_a_client_on_the_page_about_stdio_starts_the_same_command() -> None:
    (entry,) = code_blocks(STDIO, "json")
    (server,) = json.loads(entry.text)["mcpServers"].values()
    (commands,) = code_blocks(STDIO, "sh")
    assert " ".join([server["command"], *server["args"]]) in commands.text


async def test_the_page_about_this_machine(directory: Path) -> None:
    assert_shows(LOOPBACK, await shown_by(LOOPBACK, directory))
    assert not (directory / "run" / "token").exists()


@asynccontextmanager
async def oauth_server(directory: Path) -> AsyncGenerator[dict[str, str]]:
    """What a reader of the last page has: an issuer, a client, a proxy that ends TLS."""
    tls = Tls(directory)
    async with authorization_server(tls) as issuer, proxy(tls) as front:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            front.target = free.getsockname()[1]
        issuer.resource = f"{front.url}/scout"
        yield {
            "PUBLIC_URL": issuer.resource,
            "ISSUER": issuer.issuer,
            "CLIENT_ID": CLIENT,
            "CLIENT_SECRET": SECRET,
            "PORT": str(front.target),
            "SSL_CERT_FILE": str(tls.authority),
        }


async def test_the_page_about_oauth_with_a_real_authorization_server(directory: Path) -> None:
    async with oauth_server(directory) as variables:
        shown = await shown_by(REMOTE, directory, **variables)
        exports, *_ = code_blocks(REMOTE, "text")
        told = set(re.findall(r"(\w+)=", exports.text))
        assert told == variables.keys() - {"SSL_CERT_FILE"}
    assert_shows(REMOTE, shown, after=1)
    assert "token_refused reason=missing_token" in shown
    assert SECRET not in shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, ["the agent keeps its promises"]),
        (1, [f"passed: {check.__name__}" for check in LIFECYCLE_CHECKS]),
    ],
    ids=["an agent", "a transport"],
)
def test_the_page_about_tests(directory: Path, number: int, shown: list[str]) -> None:
    """Warnings are errors: a page that leaves a task behind is no example."""
    code = code_blocks(TESTS, "python")[number].text
    (directory / "written.py").write_text(code)
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "written.py"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr, ended.stdout.splitlines()) == (0, "", shown)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_an_example_is_shorter_than_80_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < 80
