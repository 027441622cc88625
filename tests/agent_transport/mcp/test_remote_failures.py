"""What the remote host counts, against whom, what it leaves on record, and what an outage does."""

from __future__ import annotations

import logging

import pytest

from agent_transport.admission import TokenFault
from agent_transport.testing import FakeSession
from tests.agent_transport.mcp.remote_peer import BAD, GOOD, PROXY, Remote, fault_tokens, remote
from tests.specification import requirement


async def fail(it: Remote, times: int, *, source: str = "127.0.0.1", hops: str = "") -> list[int]:
    more = [("X-Forwarded-For", hops)] if hops else []
    return [(await it.refusal(BAD, source=source, more=more)).status for _ in range(times)]


@requirement(
    "agent-transport/remote/good-token-never-throttled",
    "agent-transport/remote/verifies-before-counting",
)
async def test_a_good_token_is_served_while_its_address_is_throttled() -> None:
    verifier = fault_tokens()
    async with remote(FakeSession(), verifier=verifier) as it:
        assert await fail(it, 21) == [401] * 20 + [429]
        for _ in range(3):
            assert (await it.ask()).status == 200
            assert (await it.refusal(BAD)).status == 429
    assert verifier.asked == [BAD] * 21 + [GOOD, BAD] * 3


async def test_the_21st_failure_waits_until_the_first_ones_are_a_minute_old() -> None:
    async with remote(FakeSession()) as it:
        await fail(it, 20)
        it.clock.advance(10)
        throttled = await it.refusal(BAD)
        assert (throttled.status, throttled.headers["retry-after"]) == (429, "50")
        assert "www-authenticate" not in throttled.headers
        assert [record.throttled for record in it.records] == [False] * 20 + [True]
        it.clock.advance(50)
        assert (await it.refusal(BAD)).status == 401


@requirement("agent-transport/remote/counts-failures-only")
async def test_served_requests_fill_no_window() -> None:
    async with remote(FakeSession()) as it:
        for _ in range(40):
            assert (await it.ask()).status == 200
        assert await fail(it, 20) == [401] * 20


@requirement("agent-transport/remote/counts-failures-only")
@pytest.mark.parametrize(
    "fault", [TokenFault.MISSING_SCOPE, TokenFault.EXPIRED, TokenFault.OVERSIZE]
)
async def test_each_refused_token_fills_the_window(fault: TokenFault) -> None:
    async with remote(FakeSession()) as it:
        statuses = [(await it.refusal(fault.value)).status for _ in range(21)]
        assert statuses[-1] == 429
        assert 429 not in statuses[:-1]
        assert (await it.refusal(None)).status == 429


async def test_an_outage_of_the_keys_is_503_uncounted_and_over_when_it_is_over() -> None:
    verifier = fault_tokens()
    async with remote(FakeSession(), verifier=verifier) as it:
        verifier.outage = True
        for _ in range(25):
            refused = await it.refusal()
            assert (refused.status, "www-authenticate" in refused.headers) == (503, False)
        verifier.outage = False
        assert (await it.ask()).status == 200
        assert await fail(it, 20) == [401] * 20
        await fail(it, 1)
        verifier.outage = True
        assert (await it.refusal(BAD)).status == 503
        reasons = [record.reason for record in it.records[:25]]
        assert reasons == [TokenFault.KEYS_UNAVAILABLE] * 25


# --- whose failure it is


@requirement("agent-transport/remote/forwarded-from-proxy-only")
async def test_a_forged_forwarded_address_is_ignored() -> None:
    async with remote(FakeSession()) as it:
        statuses = [
            (await it.refusal(BAD, more=[("X-Forwarded-For", f"198.51.100.{n}")])).status
            for n in range(21)
        ]
        assert statuses[-1] == 429
        assert {record.address_class for record in it.records} == {"loopback"}
        assert await fail(it, 1, source="127.0.0.2") == [401]


@requirement("agent-transport/remote/forwarded-from-proxy-only")
async def test_a_trusted_proxy_is_believed_and_its_clients_are_told_apart() -> None:
    async with remote(FakeSession()) as it:
        assert (await fail(it, 21, source=PROXY, hops="8.8.8.8"))[-1] == 429
        assert await fail(it, 1, source=PROXY, hops="8.8.4.4") == [401]
        assert await fail(it, 1, source="127.0.0.1", hops="8.8.8.8") == [401]
        assert {record.address_class for record in it.records[:22]} == {"public"}


@requirement("agent-transport/remote/forwarded-from-proxy-only")
async def test_hops_left_of_the_right_most_untrusted_one_are_never_believed() -> None:
    async with remote(FakeSession(), trusted_proxies=(PROXY, "10.0.0.0/8")) as it:
        statuses = [
            (
                await it.refusal(
                    BAD,
                    source=PROXY,
                    more=[("X-Forwarded-For", f"1.2.3.{n}, 8.8.8.8, 10.1.2.3")],
                )
            ).status
            for n in range(21)
        ]
        assert statuses[-1] == 429
        assert await fail(it, 1, source=PROXY, hops="8.8.8.8, 8.8.4.4") == [401]


# --- what is left of it


@requirement(
    "agent-transport/errors/audit-no-token",
    "agent-transport/errors/audit-address-class",
    "agent-transport/errors/nothing-leaks",
)
async def test_records_and_logs_hold_no_token_and_no_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with remote(FakeSession()) as it:
        await it.refusal("SECRET.token", source="127.0.0.2")
        await it.refusal("SECRET.token", source=PROXY, more=[("X-Forwarded-For", "8.8.8.8")])
        await it.refusal("SECRET.token", host="evil.example", source="127.0.0.2")
        await it.ask(GOOD)
    assert [record.address_class for record in it.records] == ["loopback", "public"]
    told = repr(it.records) + caplog.text
    for secret in ("SECRET", GOOD, "127.0.0.2", PROXY, "8.8.8.8", "evil.example"):
        assert secret not in told
    assert repr(it.records[0]).count("=") == 3
