"""One agent session as an MCP server: its tools under their own names, and one to submit prompts.

Which answer belongs to which outcome:

    the call is wrong, or the session may try it later    a result with isError
    a tool said how it went                               its envelope; isError = no success
    a turn ran                                            its response
    the session broke or is ending                        a JSON-RPC error, without any detail

A model can act upon the first three. The last one is for whoever runs the session.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
from typing import Any, NoReturn, cast

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from agent_transport import __version__
from agent_transport.errors import (
    CatalogInvalid,
    SessionBusy,
    SessionClosed,
    TurnFailed,
    TurnNotRun,
)
from agent_transport.mcp.call import Call, EndSignal
from agent_transport.mcp.catalog import CatalogReader, SubmissionTool
from agent_transport.mcp.while_wanted import WhileWanted
from agent_transport.session import JsonObject, McpTransportSession

DEFAULT_SUBMISSION = SubmissionTool()

_SOFT = (CatalogInvalid, SessionBusy, TurnNotRun)
_HARD: dict[type[Exception], str] = {
    SessionClosed: "The session is shutting down",
    TurnFailed: "The turn failed",
}
_UNKNOWN_BREAKAGE = "Internal error"
_PROMPT_RULE = "prompt must be given, as a string that is not empty, and nothing else"
_log = logging.getLogger(__name__)
_encode_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


async def create_agent_mcp_server(
    session: McpTransportSession,
    *,
    submission: SubmissionTool = DEFAULT_SUBMISSION,
    name: str = "agent-transport",
    version: str = __version__,
    instructions: str | None = None,
) -> Server[Any]:
    """Check the session's catalog and build a server of it, to be run by any carrier.

    Raises:
        CatalogInvalid: the catalog cannot be served; nothing was built.
    """
    tools = _AgentTools(session, submission)
    await tools.catalog.read()
    return _AgentServer(name, version=version, instructions=instructions, tools=tools)


class _AgentServer(Server[Any]):
    """Advertises tools and nothing else, in each era."""

    def __init__(
        self, name: str, *, version: str, instructions: str | None, tools: _AgentTools
    ) -> None:
        super().__init__(
            name,
            version=version,
            instructions=instructions,
            get_tool_input_schema=tools.catalog.mirrored_schema,
            on_list_tools=cast("Any", tools.list),  # the kernel takes wire dicts as well
            on_call_tool=cast("Any", tools.call),
        )
        self.middleware.clear()  # tracing that nobody asked for: 6 % of a call

    def get_capabilities(self, *_: Any, **__: Any) -> types.ServerCapabilities:
        return types.ServerCapabilities(tools=types.ToolsCapability())


class _AgentTools:
    """The two handlers. They return wire dicts: building models first costs 40 µs a call."""

    def __init__(self, session: McpTransportSession, submission: SubmissionTool) -> None:
        self.catalog = CatalogReader(session, submission)
        self._session = session
        self._submission = submission
        # A driver never comes twice, so no session merges the prompts of two callers.
        self._drivers = map(f"mcp-{secrets.token_hex(8)}-{{}}".format, itertools.count(1))

    async def list(self, ctx: Any, params: Any) -> JsonObject:
        """Answers tools/list."""
        try:
            catalog = await self.catalog.read()
        except CatalogInvalid as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        except Exception as error:
            _break(error)
        return {
            "tools": catalog.as_json(),
            "resultType": "complete",
            # The session may alter its tools at any time, and they are this caller's alone.
            "ttlMs": 0,
            "cacheScope": "private",
        }

    async def call(self, ctx: Any, params: types.CallToolRequestParams) -> JsonObject:
        """Answers tools/call."""
        request: Any = ctx.request  # a Call over HTTP, None on stdio
        arguments = params.arguments or {}
        if isinstance(request, Call):
            signal = request.ended
        else:
            # Over HTTP they were parsed strictly; other carriers' parsers let NaN through.
            if not _is_json(arguments):
                return _text("The arguments are not JSON", is_error=True)
            signal = EndSignal()
        try:
            with WhileWanted(signal):
                return await self._answer(params.name, arguments, signal)
        except _SOFT as error:
            return _text(str(error), is_error=True)
        except Exception as error:
            _break(error)

    async def _answer(self, name: str, arguments: JsonObject, signal: EndSignal) -> JsonObject:
        catalog = await self.catalog.read()
        if name == self._submission.name:
            return await self._submit(arguments, signal)
        if name not in catalog.names:
            return _text(f"Unknown tool: {name[:128]}", is_error=True)
        envelope = await self._session.invoke_runtime_tool(name, arguments, cancel=signal)
        return _text(_encode_json(envelope.as_json()), is_error=not envelope.success)

    async def _submit(self, arguments: JsonObject, signal: EndSignal) -> JsonObject:
        prompt = arguments.get("prompt")
        if len(arguments) != 1 or not isinstance(prompt, str) or not prompt:
            return _text(_PROMPT_RULE, is_error=True)
        driver_id = next(self._drivers)
        turn = await self._session.submit(prompt, driver_id=driver_id, cancel=signal)
        return _text((await turn.completed).response, is_error=False)


def _break(error: Exception) -> NoReturn:
    """Answer with a JSON-RPC error that tells nothing; the log has the rest."""
    message = _HARD.get(type(error), _UNKNOWN_BREAKAGE)
    if not isinstance(error, SessionClosed):
        _log.error("session_broke", exc_info=error)
    raise MCPError(types.INTERNAL_ERROR, message) from error


def _text(text: str, *, is_error: bool) -> JsonObject:
    if not text.isascii():
        # A model may put half a surrogate pair into its text; no JSON in UTF-8 can carry that.
        text = text.encode("utf-8", "replace").decode("utf-8")
    content = [{"type": "text", "text": text}]
    return {"content": content, "isError": is_error, "resultType": "complete"}


def _is_json(arguments: JsonObject) -> bool:
    try:
        _encode_json(arguments)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
