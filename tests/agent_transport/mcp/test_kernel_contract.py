"""What the carrier relies on in the SDK's kernel, so that an SDK update fails here and loudly."""

from __future__ import annotations

import inspect

import pytest
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
)
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp_types import InitializeRequestParams
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from agent_transport.mcp import Call
from agent_transport.mcp.kernel import MessageContext, Runners
from agent_transport.mcp.sessions import SessionRecord
from tests.specification import requirement

RECORD = SessionRecord("s", "2025-06-18", {"name": "t", "version": "1"}, {})


def context(request_id: int | None = 1) -> MessageContext:
    return MessageContext(Call("caller", RECORD, {}), request_id, None, None)


def runners() -> Runners:
    return Runners(Server("contract", version="1"), {})


@requirement("SPEC-0014/endpoint/official-sdk")
async def test_the_kernel_negotiates_a_known_version_and_offers_the_latest_otherwise() -> None:
    for asked, agreed in (("2025-06-18", "2025-06-18"), ("1999-01-01", LATEST_HANDSHAKE_VERSION)):
        runner = runners().fresh()
        params = {
            "protocolVersion": asked,
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        result = await runner.on_request(context(), "initialize", params)
        assert result["protocolVersion"] == agreed
        assert runner.connection.protocol_version == agreed


async def test_the_kernel_refuses_requests_before_initialize_but_answers_ping() -> None:
    server: Server[object] = Server("contract", version="1")

    async def listed(ctx: object, params: object) -> dict[str, object]:
        return {"tools": []}

    server.add_request_handler("tools/list", InitializeRequestParams, listed)  # pyright: ignore[reportArgumentType, reportUnknownMemberType] - any params will do
    runner = Runners(server, {}).fresh()
    assert await runner.on_request(context(), "ping", None) == {}
    with pytest.raises(MCPError):
        await runner.on_request(context(), "tools/list", None)


async def test_a_connection_rebuilt_from_a_record_is_as_good_as_the_negotiated_one() -> None:
    runner = runners().of(RECORD)
    assert runner.connection.initialize_accepted
    assert runner.connection.protocol_version == "2025-06-18"
    assert await runner.on_request(context(), "ping", None) == {}


def test_an_unexpected_exception_has_no_error_data_of_its_own() -> None:
    assert handler_exception_to_error_data(ValueError("inner")) is None
    known = handler_exception_to_error_data(MCPError(-32602, "told"))
    assert known is not None
    assert (known.code, known.message) == (-32602, "told")


def test_the_classifier_refuses_what_has_no_envelope_and_names_statuses() -> None:
    verdict = classify_inbound_request({"method": "ping", "params": {}}, headers={})
    assert isinstance(verdict, InboundLadderRejection)
    assert ERROR_CODE_HTTP_STATUS[-32601] == 404
    assert ERROR_CODE_HTTP_STATUS[-32022] == 400


def test_the_eras_are_apart_and_the_constructors_are_where_we_call_them() -> None:
    assert set(HANDSHAKE_PROTOCOL_VERSIONS).isdisjoint(MODERN_PROTOCOL_VERSIONS)
    names = list(inspect.signature(Connection.from_envelope).parameters)
    assert names[:3] == ["protocol_version", "client_info", "client_capabilities"]
    assert list(inspect.signature(ServerRunner).parameters)[:3] == [
        "server",
        "connection",
        "lifespan_state",
    ]
