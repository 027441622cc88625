"""A command run once for each turn: real processes, from their first byte to their end."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agent_transport.adapters import command as module
from agent_transport.adapters.command import command_session
from agent_transport.errors import ConfigurationError, NotRunReason, TurnFailed, TurnNotRun
from agent_transport.testing import ManualCancel
from tests.agent_transport.adapters.asking import BOUND_S, ask

UPPER = "import sys; print(sys.stdin.read().upper())"


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


async def test_the_prompt_is_read_from_standard_input_and_the_output_is_the_response() -> None:
    session = command_session(python(UPPER))
    assert await ask(session, "héllo\n-x") == "HÉLLO\n-X"
    assert await ask(session, "again") == "AGAIN"


async def test_the_prompt_stands_in_no_argument_and_in_no_variable() -> None:
    code = "import sys, os; print('secret' in str(sys.argv) + str(os.environ), sys.stdin.read())"
    assert await ask(command_session(python(code)), "secret") == "False secret"


async def test_a_command_that_reads_nothing_answers_all_the_same() -> None:
    session = command_session(python("print('done')"))
    assert await ask(session, "x" * 1_000_000) == "done"


async def test_a_long_answer_comes_whole() -> None:
    session = command_session(python("import sys; sys.stdout.write(sys.stdin.read() * 2)"))
    assert await ask(session, "x" * 300_000) == "x" * 600_000


async def test_directory_and_environment_are_the_ones_that_were_given(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ.get('MARK'), os.environ.get('HOME'))"
    session = command_session(python(code), cwd=tmp_path, env={"MARK": "here"})
    assert await ask(session, "?") == f"{tmp_path} here None"


@pytest.mark.parametrize(
    "command",
    [
        python("import sys; print('half'); sys.exit(3)"),
        ["/nowhere/at/all"],
        python("while 1: print('x' * 9999)"),
    ],
    ids=["exit 3", "no such program", "endless output"],
)
async def test_a_command_that_does_not_answer_breaks_its_turn_alone(command: list[str]) -> None:
    with pytest.raises(TurnFailed) as failed:
        await ask(command_session(command), "?")
    assert str(failed.value) == "the turn failed"


@pytest.mark.parametrize("command", ["echo hi", [], ""])
def test_a_text_for_a_shell_is_refused(command: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="command"):
        command_session(command)


@pytest.mark.parametrize("ignores_term", [False, True], ids=["ends on TERM", "ignores TERM"])
async def test_a_cancelled_turn_ends_the_command_and_its_children(
    ignores_term: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TERMINATE_GRACE_S", 0.2)
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN);" if ignores_term else ""
    code = (
        f"import os, signal, subprocess, sys, time; {ignore}"
        "held = os.open(sys.argv[1], os.O_WRONLY); os.set_inheritable(held, True);"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], close_fds=False);"
        "os.write(held, b'begun'); time.sleep(600)"
    )
    session, cancel = command_session(python(code, str(fifo))), ManualCancel()
    asking = asyncio.ensure_future(ask(session, "?", cancel))
    alive = await asyncio.to_thread(os.open, fifo, os.O_RDONLY)
    try:
        assert await asyncio.to_thread(os.read, alive, 5) == b"begun"
        cancel.set()
        with pytest.raises(TurnNotRun) as ended:
            await asking
        assert ended.value.reason is NotRunReason.CANCELLED
        # The pipe ends when nobody holds it any more: neither the command nor its child.
        async with asyncio.timeout(BOUND_S):
            assert await asyncio.to_thread(os.read, alive, 1) == b""
    finally:
        os.close(alive)
    await session.close()
