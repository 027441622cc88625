"""One agent session over standard input and output: the way most clients start a server.

Admission is none, on purpose: a peer that can write to this process's standard input already runs
as its user, so there is nothing that a credential could keep out.

The SDK drives the messages; the bytes are ours, because its own reader cannot be stopped while the
peer is silent. Needs POSIX.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from mcp.server import Server

from agent_transport.errors import CloseFailed, PeerGone
from agent_transport.lifecycle import Lifecycle, Opened, Sleep
from agent_transport.mcp.catalog import SubmissionTool
from agent_transport.mcp.line_messages import LineInbox, LineOutbox
from agent_transport.mcp.lines import LineReader, LineWriter
from agent_transport.mcp.server import DEFAULT_SUBMISSION, create_agent_mcp_server
from agent_transport.mcp.standard_streams import Wire, take_standard_streams
from agent_transport.parent import ParentWatch
from agent_transport.session import McpTransportSession
from agent_transport.transport import ServiceTransport, TransportDescriptor

LAST_WORDS_S = 1.0
"""How long the answers to calls that were ended may take to be read."""

T = TypeVar("T")


def create_mcp_transport(
    *,
    submission: SubmissionTool = DEFAULT_SUBMISSION,
    instructions: str | None = None,
    wire: Wire | None = None,
    sleep: Sleep = asyncio.sleep,
) -> ServiceTransport[McpTransportSession]:
    """A transport that serves one attached session over stdio, or over `wire` if one is given.

    Without a wire the process's standard streams are taken when it starts, and the process ends
    with its parent. The descriptors of a wire stay open; they are their owner's.
    """
    opener = _Opener(submission, instructions, wire)
    lifecycle: Lifecycle[McpTransportSession, None] = Lifecycle(opener.open, sleep=sleep)
    return ServiceTransport(TransportDescriptor("mcp"), lifecycle)


class _Opener:
    """Opens one run after the other on the same two descriptors."""

    def __init__(
        self, submission: SubmissionTool, instructions: str | None, wire: Wire | None
    ) -> None:
        self._submission = submission
        self._instructions = instructions
        self._wire = wire
        self._parent: ParentWatch | None = None

    @asynccontextmanager
    async def open(self, session: McpTransportSession) -> AsyncGenerator[Opened[None]]:
        wire = self._wire or take_standard_streams()
        peer = _Peer(wire)
        self._watch_parent(peer)
        try:
            server = await peer.unless_it_leaves(self._build(session))
            running = asyncio.create_task(peer.serve(server), name="stdio")
            try:
                yield Opened(None, peer.until_over(running))
            finally:
                await _end(running)
                await peer.writer.drain(LAST_WORDS_S)
        finally:
            if self._parent is not None and not peer.has_left:
                self._parent.forget()  # stopped: the process may go on, with or without a parent
            peer.close()

    def _build(self, session: McpTransportSession) -> Awaitable[Server[Any]]:
        return create_agent_mcp_server(
            session, submission=self._submission, instructions=self._instructions
        )

    def _watch_parent(self, peer: _Peer) -> None:
        if self._wire is not None:
            return
        if self._parent is not None:
            self._parent.forget()
        # It outlives a run that the peer ended: what is left of the process is to end as well.
        self._parent = ParentWatch(peer.leave_threadsafe)
        self._parent.start()


async def _end(running: asyncio.Task[None]) -> None:
    running.cancel()
    try:
        await asyncio.wait([running])
    finally:
        if not running.done():  # the lifecycle's patience is over
            raise CloseFailed("a call that was told to end goes on")


class _Peer:
    """The client at the other end of the wire."""

    def __init__(self, wire: Wire) -> None:
        self._loop = asyncio.get_running_loop()
        self.reader = LineReader(wire.inbound)
        self.writer = LineWriter(wire.outbound)
        self.reader.open()
        self.writer.open()

    @property
    def has_left(self) -> bool:
        """Whether one of its ends is closed."""
        return self.reader.ended.done() or self.writer.gone.done()

    def close(self) -> None:
        """Neither read nor write any more."""
        self.reader.close()
        self.writer.close()

    def leave_threadsafe(self) -> None:
        """Take it for gone."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.writer.close)

    async def unless_it_leaves(self, work: Awaitable[T]) -> T:
        """Give up `work` as soon as the peer closes either of its ends."""
        working = asyncio.ensure_future(work)
        try:
            await asyncio.wait(
                [working, self.reader.ended, self.writer.gone],
                return_when=asyncio.FIRST_COMPLETED,
            )
            if working.done():
                return working.result()
            raise PeerGone("the peer closed its end before this was ready")
        finally:
            if not working.done():
                working.cancel()
                await asyncio.wait([working])

    async def until_over(self, running: asyncio.Task[None]) -> None:
        """Return when `running` has ended or nobody reads any more; raise what broke it."""
        await asyncio.wait([running, self.writer.gone], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()

    async def serve(self, server: Server[Any]) -> None:
        """Answer until the peer closes its end."""
        inbox, outbox = LineInbox(self.reader, self.writer), LineOutbox(self.writer)
        await server.run(inbox, outbox, server.create_initialization_options())
