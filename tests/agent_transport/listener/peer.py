"""A peer on a raw socket, and the small applications it speaks to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

from agent_transport.admission import Reason, Refusal, send_refusal
from agent_transport.admission.asgi import Receive, Scope, Send
from agent_transport.listener import Listener, SocketLimits

WAIT_S = 10.0
"""How long a test waits for what must happen anyway."""


@dataclass
class Peer:
    """One TCP connection to a listener, without any HTTP library in between."""

    wire: socket.socket
    seen: bytearray = field(default_factory=bytearray)

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.wire, data)

    async def read_until(self, mark: bytes) -> bytes:
        """What came until `mark` has been seen; fails if the connection ends before."""
        async with asyncio.timeout(WAIT_S):
            while mark not in self.seen:
                assert await self._receive(), f"closed after {bytes(self.seen)!r}"
        end = self.seen.index(mark) + len(mark)
        taken = bytes(self.seen[:end])
        del self.seen[:end]
        return taken

    async def read_to_end(self) -> bytes:
        """Everything until the other side closes; a reset counts as the end."""
        async with asyncio.timeout(WAIT_S):
            while await self._receive():
                pass
        return bytes(self.seen)

    async def _receive(self) -> bytes:
        try:
            data = await asyncio.get_running_loop().sock_recv(self.wire, 65536)
        except ConnectionResetError:
            return b""
        self.seen += data
        return data


@asynccontextmanager
async def peer_of(listener: Listener) -> AsyncGenerator[Peer]:
    address = listener.address
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with closing(socket.socket(family)) as wire:
        wire.setblocking(False)
        await asyncio.get_running_loop().sock_connect(wire, (address.host, address.port))
        yield Peer(wire)


Handler = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass
class Application:
    """An ASGI application whose requests go to `handler`; it notes its lifespan."""

    handler: Handler
    lived: list[str] = field(default_factory=list[str])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            return await self.handler(scope, receive, send)
        while "shutdown" not in self.lived:
            event = (await receive())["type"]
            self.lived.append(event.removeprefix("lifespan."))
            await send({"type": f"{event}.complete"})
        return None


def serving(handler: Handler, **settings: float) -> Listener:
    """A listener on a free port with some of the limits altered."""
    limits = SocketLimits(**settings)  # type: ignore[arg-type]  # counts are given as whole numbers
    return Listener(Application(handler), limits=limits, grace_s=WAIT_S)


async def answer(send: Send, body: bytes = b"ok", status: int = 200) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers at once, without reading anything."""
    await answer(send, scope["path"].encode())


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await send_refusal(send, Refusal(401, Reason.CREDENTIAL))


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body, then sends it back."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message["body"]
        if not message["more_body"]:
            return await answer(send, body)
