"""The carrier over real sockets: sessions, streams, faults, cancellation, ends."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent_transport.mcp import CarrierLimits, EndReason, notification_frame
from tests.agent_transport.mcp.fixture_server import KEY, serving
from tests.agent_transport.mcp.wire_client import (
    BOUND_S,
    Client,
    exchange,
    read_chunked,
    read_head,
    request_bytes,
    until_eof,
)


async def test_a_session_lists_and_calls_tools() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        opened = await client.initialize()
        assert opened.json["result"]["protocolVersion"] == "2025-11-25"
        assert set(opened.json["result"]["capabilities"]) == {"tools"}
        assert (await client.notify("notifications/initialized")).status == 202
        listed = await client.post("tools/list")
        assert listed.json["result"]["tools"][0]["name"] == "echo"
        called = await client.call("echo", text="hi")
        assert called.json["result"]["content"][0]["text"] == "hi"
        assert called.headers["cache-control"] == "no-store"
        assert (await client.post("ping")).json["result"] == {}


async def test_a_session_is_served_by_a_process_that_never_saw_its_handshake() -> None:
    async with serving() as first, serving() as second:
        client = Client(first.port)
        await client.initialize("2025-06-18")
        second.sessions.rows.update(first.sessions.rows)
        client.port = second.port
        assert (await client.call("echo", text="x")).json["result"]["content"][0]["text"] == "x"


async def test_an_unknown_version_is_negotiated_and_an_unknown_header_version_refused() -> None:
    async with serving(refuse_modern=lambda caller, name: True) as fixture:
        client = Client(fixture.port)
        opened = await client.initialize("1999-01-01")
        assert opened.json["result"]["protocolVersion"] == "2025-11-25"
        body = b'{"jsonrpc":"2.0","id":"p1","method":"server/discover"}'
        headers = client.headers(**{"MCP-Protocol-Version": "2026-07-28"})
        refused = await exchange(fixture.port, request_bytes("POST", body, headers))
        assert refused.status == 400
        assert refused.json["id"] == "p1"
        assert refused.json["error"]["code"] == -32022
        assert refused.json["error"]["data"]["supported"][0] == "2025-11-25"
        assert refused.json["error"]["data"]["requested"] == "2026-07-28"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[]", 400, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600),
        (b"3", 400, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', 200, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200, -32602),
    ],
)
async def test_a_malformed_message_gets_its_own_error(body: bytes, status: int, code: int) -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        answer = await exchange(fixture.port, request_bytes("POST", body, client.headers()))
        assert (answer.status, answer.json["error"]["code"]) == (status, code)


async def test_an_unknown_tool_is_invalid_params_and_a_broken_one_tells_nothing() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        assert (await client.call("nope")).json["error"]["code"] == -32602
        broken = await client.call("break")
        assert broken.json["error"] == {"code": -32603, "message": "Internal error"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Accept": "text/html"}, 406),
        ({"Accept": "application/json;q=0, text/event-stream"}, 406),
        ({"Accept": "*/*"}, 200),
        ({"Accept": "application/*;q=0.1"}, 200),
        ({"Accept": "application/json", "accept": "text/event-stream"}, 200),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ],
)
async def test_content_type_and_accept_are_checked(headers: dict[str, str], status: int) -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        raw = request_bytes("POST", body, client.headers() | headers)
        assert (await exchange(fixture.port, raw)).status == status


async def test_a_body_over_the_limit_is_413_before_it_is_parsed_or_even_sent() -> None:
    async with serving(limits=CarrierLimits(body_bytes=1000)) as fixture:
        client = Client(fixture.port)
        await client.initialize()
        declared = request_bytes("POST", b"", client.headers() | {"Content-Length": "1001"})
        assert (await exchange(fixture.port, declared)).status == 413
        head = "".join(f"{name}: {value}\r\n" for name, value in client.headers().items())
        chunked = f"POST /mcp HTTP/1.1\r\nHost: h\r\n{head}Transfer-Encoding: chunked\r\n\r\n"
        raw = chunked.encode() + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n"
        answer = await exchange(fixture.port, raw)
        assert (answer.status, answer.body) == (413, b"")


async def test_session_ids_missing_unknown_ended_and_stale_at_initialize() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        missing = await client.call("echo")
        assert (missing.status, missing.json["id"]) == (400, 1)
        client.session = "nobody"
        unknown = await client.call("echo")
        assert (unknown.status, unknown.json["error"]["code"]) == (404, -32600)
        opened = await client.initialize()
        assert opened.status == 200
        deleted = await exchange(fixture.port, request_bytes("DELETE", b"", client.headers()))
        assert deleted.status == 204
        ended = await client.call("echo")
        assert ended.status == 404
        again = await exchange(fixture.port, request_bytes("DELETE", b"", client.headers()))
        assert again.status == 404


async def test_a_refused_initialize_leaves_no_session_behind() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        answer = await client.post("initialize", {"protocolVersion": 7})
        assert answer.json["error"]["code"] == -32602
        assert fixture.sessions.rows == {}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS"])
async def test_other_methods_are_405_with_allow(method: str) -> None:
    async with serving() as fixture:
        answer = await exchange(fixture.port, request_bytes(method))
        assert answer.status == 405
        assert answer.headers["allow"] == "GET, POST, DELETE"


async def test_equal_ids_in_flight_each_get_their_own_answer() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        answers = await asyncio.gather(
            *(client.call("echo", request_id=1, text=str(n)) for n in range(8))
        )
        assert [a.json["result"]["content"][0]["text"] for a in answers] == list("01234567")


async def test_a_stream_opens_at_once_carries_frames_and_is_replaced_by_the_next_one() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        reader, writer = await client.open_stream()
        stream = await asyncio.wait_for(fixture.opened.get(), BOUND_S)
        assert stream.offer(notification_frame("notifications/x", {"a": 1}))
        _, second_writer = await client.open_stream()
        first = await until_eof(reader)
        assert first.startswith(b": open\n\n")
        assert json.loads(first.split(b"data: ")[1])["params"] == {"a": 1}
        closed = await asyncio.wait_for(fixture.closed.get(), BOUND_S)
        assert closed is stream
        assert closed.ended is EndReason.REPLACED
        writer.close()
        second_writer.close()
        gone = await asyncio.wait_for(fixture.closed.get(), BOUND_S)
        assert gone.ended is EndReason.DISCONNECTED


async def test_a_full_buffer_loses_frames_and_never_waits() -> None:
    async with serving(limits=CarrierLimits(stream_buffer=2)) as fixture:
        client = Client(fixture.port)
        await client.initialize()
        _, writer = await client.open_stream()
        stream = await asyncio.wait_for(fixture.opened.get(), BOUND_S)
        assert [stream.offer(b"x") for _ in range(3)] == [True, True, False]
        writer.close()


async def test_last_event_id_is_ignored_and_streams_are_capped_per_key() -> None:
    async with serving(limits=CarrierLimits(streams_per_key=1)) as fixture:
        client, other = Client(fixture.port), Client(fixture.port)
        await client.initialize()
        await other.initialize()
        _, writer = await client.open_stream()
        headers = other.headers() | {"Last-Event-ID": "7"}
        refused = await exchange(fixture.port, request_bytes("GET", b"", headers))
        assert refused.status == 429
        writer.close()
        await asyncio.wait_for(fixture.closed.get(), BOUND_S)
        reader, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(request_bytes("GET", b"", headers))
        assert (await read_head(reader))[0] == 200
        writer.close()


async def test_a_cancelled_call_is_stopped_and_told_so() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        call = asyncio.create_task(client.call("undoable", request_id="c1"))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        await client.notify("notifications/cancelled", {"requestId": "c1"})
        assert (await call).json["error"]["code"] == -32800
        await asyncio.wait_for(fixture.undone.wait(), BOUND_S)


@pytest.mark.parametrize("reason", [EndReason.REVOKED, EndReason.EXPIRED])
async def test_a_revoked_caller_loses_stream_and_waiting_call(reason: EndReason) -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        reader, writer = await client.open_stream()
        call = asyncio.create_task(client.call("wait"))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        fixture.carrier.end(KEY, reason)
        answer = await call
        assert (answer.status, answer.body) == (401, b"")
        assert answer.headers["www-authenticate"] == "Bearer"
        await until_eof(reader)
        writer.close()


async def test_a_call_that_finishes_after_revocation_tells_nothing() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        call = asyncio.create_task(client.call("undoable"))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        fixture.carrier.end(KEY, EndReason.REVOKED)
        fixture.release.set()
        answer = await call
        assert (answer.status, answer.body) == (401, b"")


async def test_draining_ends_streams_answers_waiting_calls_and_opens_nothing() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        reader, writer = await client.open_stream()
        call = asyncio.create_task(client.call("wait"))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        fixture.carrier.drain()
        assert (await call).json["result"]["content"][0]["text"] == "drained"
        await until_eof(reader)
        writer.close()
        refused = await client.call("echo")
        assert refused.status == 503
        assert "retry-after" in refused.headers


async def test_a_client_that_leaves_ends_its_waiting_call_and_undoes_its_change() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        _, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(client.raw("tools/call", {"name": "undoable", "arguments": {}}))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        writer.close()
        await writer.wait_closed()
        call = next(iter(fixture.carrier._calls.of(KEY)))  # pyright: ignore[reportPrivateUsage]
        async with asyncio.timeout(BOUND_S):
            assert await call.ended.wait() is EndReason.DISCONNECTED
        fixture.release.set()
        await asyncio.wait_for(fixture.undone.wait(), BOUND_S)


async def test_an_answer_that_was_handed_over_undoes_nothing() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        fixture.release.set()
        assert (await client.call("undoable")).json["result"]["content"][0]["text"] == "changed"
        await client.post("ping")
        assert not fixture.undone.is_set()


async def test_progress_turns_the_answer_into_an_event_stream() -> None:
    async with serving() as fixture:
        client = Client(fixture.port)
        await client.initialize()
        params = {"name": "progress", "arguments": {}, "_meta": {"progressToken": "t"}}
        answer = await client.post("tools/call", params)
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-store, no-transform"
        frames = [json.loads(part.split(b"\n")[0]) for part in answer.body.split(b"data: ")[1:]]
        assert frames[0]["params"] == {
            "progressToken": "t",
            "progress": 1,
            "total": 2,
            "message": "half",
        }
        assert frames[1]["result"]["content"][0]["text"] == "done"


async def test_a_long_call_becomes_an_event_stream_with_comments() -> None:
    limits = CarrierLimits(late_stream_after_s=0.01, comment_every_s=0.01)
    async with serving(limits=limits) as fixture:
        client = Client(fixture.port)
        await client.initialize()
        reader, writer = await asyncio.open_connection("127.0.0.1", fixture.port)
        writer.write(client.raw("tools/call", {"name": "wait", "arguments": {}}))
        status, headers = await read_head(reader)
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        async with asyncio.timeout(BOUND_S):
            await reader.readuntil(b": working\n\n")
            await reader.readuntil(b": working\n\n")
            await reader.readline()
        fixture.carrier.drain()
        rest = await asyncio.wait_for(read_chunked(reader), BOUND_S)
        assert json.loads(rest.split(b"data: ")[1])["result"]["content"][0]["text"] == "drained"
        writer.close()


async def test_calls_in_flight_are_capped_per_key() -> None:
    async with serving(limits=CarrierLimits(calls_per_key=1)) as fixture:
        client = Client(fixture.port)
        await client.initialize()
        call = asyncio.create_task(client.call("undoable"))
        await asyncio.wait_for(fixture.waiting.wait(), BOUND_S)
        refused = await client.call("echo")
        assert (refused.status, refused.body) == (429, b"")
        assert 1 <= int(refused.headers["retry-after"]) <= 3
        fixture.release.set()
        assert (await call).status == 200


async def test_without_sessions_each_post_stands_alone_and_there_is_no_stream() -> None:
    async with serving(stateless=True) as fixture:
        client = Client(fixture.port)
        opened = await client.initialize()
        assert "mcp-session-id" not in opened.headers
        assert (await client.call("echo", text="a")).json["result"]["content"][0]["text"] == "a"
        for method in ("GET", "DELETE"):
            answer = await exchange(fixture.port, request_bytes(method, b"", client.headers()))
            assert (answer.status, answer.headers["allow"]) == (405, "POST")
