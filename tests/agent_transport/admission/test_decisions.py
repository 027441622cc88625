"""The pure decisions of admission, as tables and as properties of foreign bytes."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission.bearer import (
    Bearer,
    BearerFault,
    is_expected,
    mint_bearer,
    parse_bearer,
    prefixed_shape,
)
from agent_transport.admission.body_limit import BodyFault, read_body
from agent_transport.admission.client_address import find_client_address, parse_proxies
from agent_transport.admission.host import listener_host, public_host
from agent_transport.admission.origin import origin_rule
from agent_transport.admission.throttle import Buckets, FailureWindow, Rate, retry_after

AUTH = b"authorization"
SHAPE = prefixed_shape(b"sbk_", 43)
GOOD = b"sbk_" + b"a" * 43


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], BearerFault.MISSING),
        ([(AUTH, b"Bearer " + GOOD)], Bearer(GOOD.decode())),
        ([(AUTH, b"bEARER   " + GOOD + b" ")], Bearer(GOOD.decode())),
        ([(AUTH, b"Basic " + GOOD)], BearerFault.MISSING),
        ([(AUTH, GOOD)], BearerFault.MISSING),
        ([(AUTH, b"Bearer " + GOOD)] * 2, BearerFault.DUPLICATE),
        ([(AUTH, b"Bearer")], BearerFault.MALFORMED),
        ([(AUTH, b"Bearer " + GOOD[:-1])], BearerFault.MALFORMED),
        ([(AUTH, b"Bearer " + GOOD + b" x")], BearerFault.MALFORMED),
        ([(AUTH, "Bearer sbk_é".encode())], BearerFault.NON_ASCII),
        ([(AUTH, b"Bearer " + b"a" * 9000)], BearerFault.OVERSIZE),
        ([(b"cookie", b"Bearer " + GOOD)], BearerFault.MISSING),
    ],
)
def test_exactly_one_well_formed_bearer_counts(
    headers: list[tuple[bytes, bytes]], expected: object
) -> None:
    assert parse_bearer(headers, shape=SHAPE) == expected


@given(st.binary(max_size=300))
def test_any_bytes_in_the_header_give_a_value_and_never_an_exception(value: bytes) -> None:
    parsed = parse_bearer([(AUTH, value)], shape=SHAPE)
    assert isinstance(parsed, Bearer | BearerFault)


def test_an_empty_expected_token_admits_nobody() -> None:
    assert not is_expected(Bearer(""), "")
    token = mint_bearer(lambda count: bytes(count))
    assert is_expected(Bearer(token), token)
    assert not is_expected(Bearer(token[:-1]), token)


@pytest.mark.parametrize(
    ("host", "admitted"),
    [
        (b"sb.example", True),
        (b"SB.example:443", True),
        (b"sb.example:80", False),
        (b"sb.example.evil", False),
        (b"127.0.0.1:8787", True),
        (b"localhost:8787", True),
        (b"[::1]:8787", True),
        (b"127.0.0.1", False),
        (b"", False),
    ],
)
def test_only_the_public_host_and_the_listeners_own_names_are_hosts(
    host: bytes, admitted: bool
) -> None:
    rule = public_host("https", "sb.example", 443)
    rule |= listener_host("127.0.0.1", 8787, local_names=True)
    assert rule.admits([(b"host", host)]) is admitted
    assert not rule.admits([(b"host", host), (b"host", host)])


@pytest.mark.parametrize(
    ("origin", "admitted"),
    [
        (b"https://sb.example", True),
        (b"https://sb.example.evil.example", False),
        (b"http://sb.example", False),
        (b"null", False),
        (b"https://sb.example/", False),
    ],
)
def test_an_origin_is_compared_whole(origin: bytes, admitted: bool) -> None:
    rule = origin_rule("https://sb.example")
    assert rule.admits([(b"origin", origin)]) is admitted
    assert rule.admits([])


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("198.51.100.7", b"203.0.113.9", "198.51.100.7"),
        ("10.0.0.1", b"203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", b"1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", b"rubbish", "10.0.0.1"),
        ("10.0.0.1", b"::ffff:203.0.113.9", "203.0.113.9"),
    ],
)
def test_a_forwarded_address_is_believed_from_a_trusted_proxy_alone(
    peer: str, forwarded: bytes, expected: str
) -> None:
    trusted = parse_proxies(["10.0.0.0/8"])
    found = find_client_address(peer, [(b"x-forwarded-for", forwarded)], trusted)
    assert found == ip_address(expected)


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    buckets = Buckets(Rate(2.0, 3))
    assert [buckets.take("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert buckets.take("a", 0.0) == pytest.approx(0.5)
    assert buckets.take("b", 0.0) == 0.0
    assert buckets.take("a", 0.5) == 0.0


def test_a_failure_window_counts_to_its_limit_and_forgets() -> None:
    window = FailureWindow(limit=2, window_s=60.0)
    assert [window.count("a", 0.0), window.count("a", 1.0)] == [0.0, 0.0]
    assert window.count("a", 2.0) == pytest.approx(58.0)
    assert window.count("a", 60.0) == 0.0


def test_retry_after_is_never_early_and_spreads() -> None:
    given_s = {int(retry_after(8.2, lambda part=part: part / 10)[1]) for part in range(10)}
    assert min(given_s) == 9
    assert len(given_s) > 1


@pytest.mark.parametrize(
    ("headers", "chunks", "expected"),
    [
        ([], [b"abc"], b"abc"),
        ([], [b"ab", b"cd"], b"abcd"),
        ([], [b"abc", b"def"], BodyFault.TOO_LARGE),
        ([(b"content-length", b"6")], [], BodyFault.TOO_LARGE),
        ([], [], BodyFault.DISCONNECTED),
    ],
)
async def test_a_body_is_read_no_further_than_its_limit(
    headers: list[tuple[bytes, bytes]], chunks: list[bytes], expected: object
) -> None:
    left = list(chunks)

    async def receive() -> dict[str, object]:
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    assert await read_body({"headers": headers}, receive, 5, None) == expected
