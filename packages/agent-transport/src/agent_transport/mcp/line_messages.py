"""The SDK's messages, one a line: what its serving loop reads from and writes to."""

from __future__ import annotations

import logging
from types import TracebackType

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST

from agent_transport.mcp.lines import LineReader, LineWriter
from agent_transport.mcp.wire import Fault, error_body, parse_message

_log = logging.getLogger(__name__)
_message = types.jsonrpc_message_adapter


class LineInbox:
    """The messages of a reader, as the SDK takes them. What is none is answered here."""

    def __init__(self, reader: LineReader, writer: LineWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> SessionMessage | Exception:
        while True:
            line = await self._reader.line()
            if line is None:
                raise anyio.EndOfStream
            if not line.strip():
                continue
            try:
                return SessionMessage(_message.validate_json(line, by_name=False))
            except ValueError:
                await self._answer(line)

    async def _answer(self, line: bytes) -> None:
        # The log keeps the length alone: what is in a line may be anybody's secret.
        _log.warning("line_malformed", extra={"bytes": len(line)})
        found = parse_message(line)
        message = found.message if isinstance(found, Fault) else "Invalid request"
        code = found.code if isinstance(found, Fault) else INVALID_REQUEST
        try:
            await self._writer.write(error_body(found.request_id, code, message))
        except BrokenPipeError:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        self._reader.close()

    def __aiter__(self) -> LineInbox:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> LineInbox:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class LineOutbox:
    """Takes the SDK's messages to a writer, each one as one line."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage, /) -> None:
        try:
            await self._writer.write(_frame(item.message))
        except BrokenPipeError:
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        """The writer is closed by whoever opened it, once the last answers are out."""

    async def __aenter__(self) -> LineOutbox:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _frame(message: types.JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:
        # Half a surrogate pair in what a session says of its tools, for one: no JSON in UTF-8.
        _log.exception("answer_not_json")
        return error_body(getattr(message, "id", None), INTERNAL_ERROR, "Internal error")
