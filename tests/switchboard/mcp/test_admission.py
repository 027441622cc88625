"""Who gets in under /mcp/, and what everybody else is told."""

from __future__ import annotations

import asyncio
import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from agent_transport.admission import Rate, origin_rule, parse_proxies
from switchboard.domain.credential import mint_credential
from switchboard.domain.todo import State
from tests.agent_transport.mcp.wire_client import request_bytes
from tests.specification import requirement
from tests.switchboard.captured_log import captured_log
from tests.switchboard.mcp.agent import Agent
from tests.switchboard.mcp.serving import Surface, serving

METHODS = ["POST", "GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]


async def every_byte(port: int, raw: bytes) -> bytes:
    """The whole answer until the server closes, without the time of day."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        async with asyncio.timeout(10):
            answer = await reader.read()
    finally:
        writer.close()
    return re.sub(rb"date: [^\r]*\r\n", b"", answer)


def stranger(surface: Surface, credential: str = "", slug: str = "nobody-00000000") -> Agent:
    return Agent(surface.port, slug, credential or mint_credential(secrets.token_bytes))


@requirement(
    "SPEC-0014/bearer/required",
    "SPEC-0014/bearer/missing",
    "SPEC-0014/bearer/url-alone",
    "SPEC-0014/routes/none-public",
    "SPEC-0014/security/no-anonymous",
)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["", "/", "/tools", "/../../readyz"])
async def test_without_a_credential_every_path_and_method_is_401(
    surface: Surface, method: str, path: str
) -> None:
    agent = await surface.agent()
    headers = agent.headers(Authorization="")
    for slug in (agent.slug, "nobody-00000000"):
        raw = request_bytes(method, b"", headers, f"/mcp/{slug}{path}")
        answer = await every_byte(surface.port, raw)
        assert answer.startswith(b"HTTP/1.1 401 "), answer
        assert b"www-authenticate: Bearer\r\n" in answer
        assert answer.endswith(b"\r\n\r\n"), "no body"


@requirement(
    "SPEC-0014/bearer/unknown",
    "SPEC-0014/bearer/revoked",
    "SPEC-0014/bearer/revoked-no-hint",
    "SPEC-0014/bearer/revocation-stops-calls",
)
async def test_a_revoked_endpoint_is_answered_like_one_that_never_was(surface: Surface) -> None:
    agent = await surface.agent()
    await surface.add()
    assert (await agent.post("tools/list")).status == 200
    await surface.revoke(agent)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {}),
        ("tools/call", {"name": "claim", "arguments": {}}),
    ]
    for method, params in calls:
        revoked = await every_byte(surface.port, agent.bytes_of(method, params))
        unknown = stranger(surface, slug=agent.slug)
        assert revoked == await every_byte(surface.port, unknown.bytes_of(method, params))
        never = stranger(surface)
        assert revoked == await every_byte(surface.port, never.bytes_of(method, params))
        assert revoked.startswith(b"HTTP/1.1 401 ")
        assert b"connection: close\r\n" in revoked
    todos = await surface.agent()
    (row,) = (await todos.done("list_todos"))["todos"]
    assert (row["state"], row["attempt"]) == ("pending", 0)


@pytest.mark.parametrize(
    "value",
    [
        "Bearer",
        "Bearer ",
        "Basic {}",
        "Bearer {} {}",
        "Bearer {}x",
        "Bearer sbk_short",
        "Bearer {}\xe9",
        "{}",
    ],
)
async def test_a_malformed_credential_gets_the_same_401(surface: Surface, value: str) -> None:
    agent = await surface.vend()
    value = value.replace("{}", agent.credential)
    raw = agent.bytes_of("ping", Authorization=value)
    told = await every_byte(surface.port, raw.decode("utf-8").encode("latin-1"))
    without = await every_byte(surface.port, agent.bytes_of("ping", Authorization=""))
    assert told == without


async def test_two_authorization_headers_are_none(surface: Surface) -> None:
    agent = await surface.vend()
    raw = agent.bytes_of("ping")
    line = f"Authorization: Bearer {agent.credential}\r\n".encode()
    doubled = raw.replace(line, line + line)
    assert doubled != raw
    assert (await every_byte(surface.port, doubled)).startswith(b"HTTP/1.1 401 ")


async def test_the_scheme_is_read_in_any_case(surface: Surface) -> None:
    agent = await surface.vend()
    await agent.initialize(Authorization=f"bEaReR {agent.credential}")


@requirement("SPEC-0014/bearer/other-endpoint", "SPEC-0014/bearer/mismatch-runs-nothing")
async def test_a_good_credential_opens_no_other_path_and_runs_nothing(surface: Surface) -> None:
    todo_id = await surface.add()
    mine, other = await surface.agent(), await surface.agent(agent="other")
    for slug in (other.slug, "nobody-00000000", mine.slug + "x", mine.slug[:-1], ""):
        at_other = Agent(surface.port, slug, mine.credential, session=other.session)
        answer = await at_other.call("claim")
        assert (answer.status, answer.body) == (403, b"")
        assert "www-authenticate" not in answer.headers
    assert (await surface.todo(todo_id)).state is State.PENDING


@requirement(
    "SPEC-0014/security/cookies-carry-nothing",
    "SPEC-0014/security/csrf-by-construction",
)
async def test_cookies_and_query_parameters_open_nothing(surface: Surface) -> None:
    agent = await surface.vend()
    cookie = f"session={agent.credential}; Authorization=Bearer {agent.credential}"
    answer = await agent.post("ping", Authorization="", Cookie=cookie)
    assert answer.status == 401
    path = f"{agent.path}?access_token={agent.credential}&authorization=Bearer%20{agent.credential}"
    raw = request_bytes("POST", b"{}", agent.headers(Authorization=""), path)
    assert (await agent.send(raw)).status == 401


@requirement("SPEC-0014/bearer/last-seen")
async def test_an_admitted_request_moves_last_seen_whatever_follows(surface: Surface) -> None:
    agent = await surface.vend()
    endpoint = await surface.endpoint(agent)
    seen = surface.app.last_seen
    assert seen.at_ms(endpoint.id) is None
    surface.clock.advance(1_000)
    assert (await agent.verb("PUT")).status == 405
    assert seen.at_ms(endpoint.id) == surface.clock.now_ms(), "readers see it at once"
    await surface.upkeep.flush()
    assert (await surface.endpoint(agent)).last_seen_at_ms == surface.clock.now_ms()


async def test_a_refused_request_never_moves_last_seen(surface: Surface) -> None:
    agent, other = await surface.vend(), await surface.vend()
    assert (await agent.post("ping", Authorization="")).status == 401
    at_other = Agent(surface.port, other.slug, agent.credential)
    assert (await at_other.post("ping")).status == 403
    for one in (agent, other):
        endpoint = await surface.endpoint(one)
        assert surface.app.last_seen.at_ms(endpoint.id) is None


@requirement(
    "SPEC-0014/security/nosniff",
    "SPEC-0014/security/no-store",
    "SPEC-0014/security/html-headers-kept",
    "SPEC-0014/security/no-redirects",
)
async def test_every_answer_carries_the_headers_and_none_redirects(surface: Surface) -> None:
    agent = await surface.agent()
    big = agent.headers(Content_Length="9999999")
    answers = [
        await agent.post("ping"),
        await agent.post("nothing/such"),
        await agent.post("ping", Authorization=""),
        await Agent(surface.port, "x", agent.credential).post("ping"),
        await agent.post("ping", Host="evil.example"),
        await agent.post("ping", Origin="https://evil.example"),
        await agent.post("ping", Content_Type="text/plain"),
        await agent.post("ping", Mcp_Session_Id="gone"),
        await agent.verb("PUT"),
        await agent.send(request_bytes("POST", b"", big, agent.path)),
        await agent.send(request_bytes("POST", b"{}", agent.headers(), agent.path + "/")),
        await agent.send(request_bytes("POST", b"{}", agent.headers(), agent.path + "/below")),
        await agent.verb("DELETE"),
    ]
    statuses = [200, 200, 401, 403, 403, 403, 415, 404, 405, 413, 400, 404, 204]
    assert [answer.status for answer in answers] == statuses
    await agent.initialize()
    async with agent.stream() as stream:
        headers = [*(answer.headers for answer in answers), stream.headers]
    for one in headers:
        assert one["x-content-type-options"] == "nosniff"
        assert one["cache-control"].split(",")[0] == "no-store"
        assert one["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in one["content-security-policy"]
        assert "location" not in one


async def test_a_trailing_slash_is_the_same_endpoint(surface: Surface) -> None:
    agent = await surface.agent()
    with_slash = Agent(surface.port, agent.slug + "/", agent.credential, session=agent.session)
    assert (await with_slash.post("ping")).status == 200


async def test_an_unlisted_origin_or_host_is_refused_before_the_credential(
    surface: Surface,
) -> None:
    agent = await surface.vend()
    for extra, setting in (
        ({"Origin": "null"}, "allowed_origins"),
        ({"Origin": "http://evil.example"}, "allowed_origins"),
        ({"Host": "evil.example"}, "public_url"),
    ):
        with captured_log() as log:
            assert (await agent.post("ping", **extra)).status == 403
        assert f"set {setting}" in log.text
    endpoint = await surface.endpoint(agent)
    assert surface.app.last_seen.at_ms(endpoint.id) is None


async def test_a_listed_origin_is_let_in(tmp_path: Path) -> None:
    async with serving(tmp_path, origin=origin_rule("https://page.example")) as surface:
        agent = await surface.vend()
        await agent.initialize(Origin="https://page.example")


@requirement(
    "SPEC-0014/security/rate-per-endpoint",
    "SPEC-0014/security/rate-covers-posts",
    "SPEC-0014/security/rate-covers-streams",
)
async def test_an_endpoint_beyond_its_rate_waits_and_its_peer_does_not(tmp_path: Path) -> None:
    async with serving(tmp_path, endpoint_rate=Rate(0.01, 3)) as surface:
        busy, peer = await surface.vend(), await surface.vend()
        await busy.initialize()
        async with busy.stream():
            assert (await busy.post("ping")).status == 200
        refused = [await busy.post("ping"), await busy.verb("GET"), await busy.verb("DELETE")]
        for answer in refused:
            assert (answer.status, answer.body) == (429, b"")
            assert 90 <= int(answer.headers["retry-after"]) <= 130
        await peer.initialize()
        seen = surface.app.last_seen.at_ms((await surface.endpoint(busy)).id)
        assert seen == surface.clock.now_ms(), "a throttled request is still a sign of life"


async def test_failed_attempts_slow_their_address_alone(tmp_path: Path) -> None:
    proxies = parse_proxies(["127.0.0.1"])
    async with serving(tmp_path, address_rate=Rate(0.01, 2), trusted_proxies=proxies) as surface:
        good = await surface.vend()
        good.address = "192.0.2.7"
        rubbish = stranger(surface)
        rubbish.address = "192.0.2.7"
        statuses = [(await rubbish.post("ping")).status for _ in range(4)]
        assert statuses == [401, 401, 429, 429]
        await good.initialize()
        rubbish.address = "198.51.100.1"
        assert (await rubbish.post("ping")).status == 401


async def test_a_hundred_agents_behind_one_proxy_do_not_pay_for_one_that_sends_rubbish(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, address_rate=Rate(1, 5)) as surface:
        agents = [await surface.vend() for _ in range(99)]
        rubbish = stranger(surface)

        async def noise() -> list[int]:
            return [(await rubbish.post("ping")).status for _ in range(50)]

        noisy, *_ = await asyncio.gather(noise(), *(agent.initialize() for agent in agents))
        assert set(noisy) == {401, 429}
        listed = await asyncio.gather(*(agent.done("list_todos") for agent in agents))
        assert listed == [{"todos": []}] * 99


@requirement("SPEC-0014/security/body-limit", "SPEC-0014/security/body-limit-before-parsing")
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_mebibyte_passes_and_a_byte_more_is_413(surface: Surface, chunked: bool) -> None:
    agent = await surface.agent()
    for size, status in ((1_048_576, 200), (1_048_577, 413)):
        head = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}'
        body = head.ljust(size) if status == 200 else b"{" * size
        if chunked:
            body_bytes = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            lines = agent.headers(Transfer_Encoding="chunked", Content_Length="")
            raw = request_bytes("POST", b"", lines, agent.path)
            raw = raw.replace(b"Content-Length: 0\r\n", b"").replace(b"Content-Length: \r\n", b"")
            answer = await agent.send(raw + body_bytes)
        else:
            answer = await agent.send(request_bytes("POST", body, agent.headers(), agent.path))
        assert answer.status == status
        assert status == 200 or (answer.body, answer.headers["connection"]) == (b"", "close")
    assert (await agent.post("ping")).status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[]", 400, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600),
        (b"7", 400, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', 200, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
            b'"params":{"name":"claim","arguments":[]}}',
            200,
            -32602,
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop"}}', 200, -32602),
    ],
)
async def test_a_message_that_is_none_is_a_clear_error(
    surface: Surface, body: bytes, status: int, code: int
) -> None:
    agent = await surface.agent()
    answer = await agent.send(request_bytes("POST", body, agent.headers(), agent.path))
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert (await agent.post("ping")).status == 200


@requirement("SPEC-0014/routes/post", "SPEC-0014/routes/get", "SPEC-0014/routes/delete")
async def test_a_session_is_opened_used_and_ended(surface: Surface) -> None:
    agent = await surface.agent()
    other = await surface.agent()
    assert (await agent.post("ping")).status == 200
    assert (await agent.post("ping", Mcp_Session_Id="")).status == 400
    foreign = Agent(surface.port, other.slug, other.credential, session=agent.session)
    unknown = Agent(surface.port, other.slug, other.credential, session="nobody")
    for verb in ("GET", "DELETE"):
        answers = [await foreign.verb(verb), await unknown.verb(verb)]
        assert [answer.status for answer in answers] == [404, 404]
        assert answers[0].body == answers[1].body
    async with agent.stream() as stream:
        assert (await agent.verb("DELETE")).status == 204
        await stream.until_end(1.0)
    assert (await agent.post("ping")).status == 404
    assert (await agent.verb("GET")).status == 404
    stale = agent.session
    await agent.initialize()
    assert agent.session != stale, "a stale id in initialize is no obstacle"
