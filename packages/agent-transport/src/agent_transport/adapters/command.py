"""A session that runs a command once for each turn. Needs POSIX.

The prompt goes to the command's standard input, never into its arguments: those can be read by
every user of the machine, and a prompt that begins with a dash would be an option.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_transport.errors import ConfigurationError
from agent_transport.local_session import LocalSession
from agent_transport.local_tool import LocalTool
from agent_transport.permission import NOTHING_ALLOWED, PermissionPolicy

MAX_RESPONSE_BYTES = 1024 * 1024
"""More than any model reads; a command that never stops printing must not fill the memory."""

TERMINATE_GRACE_S = 2.0
"""Between SIGTERM and SIGKILL, once nobody wants the turn any more."""


class CommandFailed(Exception):
    """The command did not answer. The session logs this; callers hear that the turn failed."""


def command_session(
    command: Sequence[str],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    tools: Sequence[LocalTool] = (),
    permissions: PermissionPolicy = NOTHING_ALLOWED,
) -> LocalSession:
    """A session that answers each prompt with what `command` prints, without its last line end.

    The command reads the prompt from standard input, in UTF-8; it succeeds by exiting 0. Its
    standard error is this process's. `env` replaces the environment. A turn that is cancelled
    ends the command and whatever it started in its own process group.

    Raises:
        ConfigurationError: `command` is one text, or none: no shell is asked to take it apart.
    """
    if isinstance(command, str) or not command:
        raise ConfigurationError("command", "must be a sequence: the program, then its arguments")
    turns = _CommandTurns(tuple(command), cwd, None if env is None else dict(env))
    return LocalSession(turns, tools=tools, permissions=permissions)


class _CommandTurns:
    def __init__(
        self, command: tuple[str, ...], cwd: Path | str | None, env: dict[str, str] | None
    ) -> None:
        self._command = command
        self._cwd = cwd
        self._env = env

    async def __call__(self, prompt: str) -> str:
        transport, exchange = await asyncio.get_running_loop().subprocess_exec(
            _Exchange,
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,
            cwd=self._cwd,
            env=self._env,
            start_new_session=True,
        )
        try:
            await exchange.answered_by(prompt)
        finally:
            await _end(transport, exchange)
        code = transport.get_returncode()
        if code != 0:
            raise CommandFailed(f"{self._command[0]} exited with {code}")
        return exchange.output.decode("utf-8", "replace").removesuffix("\n")


class _Exchange(asyncio.SubprocessProtocol):
    """The prompt into the command, its answer out of it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.output = bytearray()
        self.exited: asyncio.Future[None] = loop.create_future()
        self._answered: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin

    async def answered_by(self, prompt: str) -> None:
        """Return when the command has ended and its output was read to the end."""
        # Half a surrogate pair, which JSON can carry and UTF-8 cannot, must not break the turn.
        self._stdin.write(prompt.encode("utf-8", "replace"))
        self._stdin.close()
        await self._answered

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output += data
        if len(self.output) > MAX_RESPONSE_BYTES and not self._answered.done():
            self._answered.set_exception(CommandFailed("the answer is too long"))

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._answered.done():
            self._answered.set_result(None)


async def _end(transport: asyncio.SubprocessTransport, exchange: _Exchange) -> None:
    """End the command if it still runs, in good order first."""
    try:
        if not exchange.exited.done():
            _signal_group(transport, signal.SIGTERM)
            await asyncio.wait([exchange.exited], timeout=TERMINATE_GRACE_S)
    finally:
        if not exchange.exited.done():
            _signal_group(transport, signal.SIGKILL)
        transport.close()
    await asyncio.wait([exchange.exited])


def _signal_group(transport: asyncio.SubprocessTransport, number: int) -> None:
    """Only while the command has not been waited for: its number is still its group's."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(transport.get_pid(), number)
