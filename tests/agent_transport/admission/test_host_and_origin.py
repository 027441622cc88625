"""Which names a server answers to, and which web pages may speak to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import (
    HostRule,
    OriginRule,
    listener_host,
    only_host,
    origin_rule,
    parse_origin,
    public_host,
)

LOOPBACK = only_host("127.0.0.1", 8787)
PUBLIC = public_host("https", "Agents.Example", 443)
ELSEWHERE = public_host("https", "agents.example", 8443)
LOCAL = listener_host("127.0.0.1", 8787, local_names=True)
PLAIN_80 = listener_host("127.0.0.1", 80, local_names=True)


def host(*values: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"accept", b"*/*"), *((b"host", value) for value in values)]


def origin(*values: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"accept", b"*/*"), *((b"origin", value) for value in values)]


@pytest.mark.parametrize(
    ("rule", "value", "admitted"),
    [
        (LOOPBACK, b"127.0.0.1:8787", True),
        (LOOPBACK, b"127.0.0.1", False),
        (LOOPBACK, b"127.0.0.1:8788", False),
        (LOOPBACK, b"127.0.0.1:08787", False),
        (LOOPBACK, b"localhost:8787", False),
        (LOOPBACK, b"127.0.0.1:8787.", False),
        (LOOPBACK, b"127.1:8787", False),
        (LOOPBACK, b"user@127.0.0.1:8787", False),
        (LOOPBACK, b"", False),
        (PUBLIC, b"agents.example", True),
        (PUBLIC, b"AGENTS.example", True),
        (PUBLIC, b"agents.example:443", True),
        (PUBLIC, b"agents.example:80", False),
        (PUBLIC, b"agents.example.", False),
        (PUBLIC, b"agents.example.evil.example", False),
        (PUBLIC, b"evil.example", False),
        (PUBLIC, b"agents.exampl\xe9", False),
        (ELSEWHERE, b"agents.example:8443", True),
        (ELSEWHERE, b"agents.example", False),
        (LOCAL, b"localhost:8787", True),
        (LOCAL, b"LocalHost:8787", True),
        (LOCAL, b"[::1]:8787", True),
        (LOCAL, b"127.0.0.1:8787", True),
        (LOCAL, b"localhost", False),
        (LOCAL, b"localhost.evil.example:8787", False),
        (PLAIN_80, b"localhost", True),
        (PLAIN_80, b"[::1]", True),
        (listener_host("::", 8787), b"[::]:8787", True),
        (only_host("0:0:0:0:0:0:0:1", 1), b"[::1]:1", True),
        (LOOPBACK | PUBLIC, b"agents.example", True),
        (LOOPBACK | PUBLIC, b"127.0.0.1:8787", True),
    ],
)
def test_host_is_admitted_only_by_its_exact_name(
    rule: HostRule, value: bytes, admitted: bool
) -> None:
    assert rule.admits(host(value)) is admitted


def test_request_without_host_or_with_two_is_not_admitted() -> None:
    assert not LOOPBACK.admits(host())
    assert not LOOPBACK.admits(host(b"127.0.0.1:8787", b"127.0.0.1:8787"))


PAGE = origin_rule("http://127.0.0.1:8787", "https://Agents.Example")


@pytest.mark.parametrize(
    ("values", "admitted"),
    [
        ([], True),
        ([b"http://127.0.0.1:8787"], True),
        ([b"https://agents.example"], True),
        ([b"https://agents.example:443"], False),
        ([b"http://agents.example"], False),
        ([b"https://agents.example/"], False),
        ([b"https://agents.example.evil.example"], False),
        ([b"http://127.0.0.1:87870"], False),
        ([b"http://127.0.0.1"], False),
        ([b"null"], False),
        ([b""], False),
        ([b"https://agents.example", b"https://agents.example"], False),
        ([b"https://agents.example https://evil.example"], False),
    ],
)
def test_origin_is_absent_or_exactly_one_of_the_listed(values: list[bytes], admitted: bool) -> None:
    assert PAGE.admits(origin(*values)) is admitted


@given(st.binary(max_size=60))
def test_no_other_bytes_pass_as_host_or_origin(value: bytes) -> None:
    known = {b"127.0.0.1:8787"}
    assert LOOPBACK.admits(host(value)) is (value.lower() in known)
    assert PAGE.admits(origin(value)) is (value in PAGE.accepted)


@given(st.binary(min_size=1, max_size=20))
def test_nothing_may_follow_an_accepted_origin(rest: bytes) -> None:
    assert not OriginRule(frozenset((b"http://localhost",))).admits(
        origin(b"http://localhost" + rest)
    )


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("https://Agents.Example", "https://agents.example"),
        ("https://agents.example:443", "https://agents.example"),
        ("http://agents.example:443", "http://agents.example:443"),
        ("http://[::1]:8787", "http://[::1]:8787"),
        ("http://[0:0::1]", "http://[::1]"),
    ],
)
def test_configured_origin_takes_the_form_that_browsers_send(written: str, canonical: str) -> None:
    assert parse_origin(written) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "null",
        "agents.example",
        "https://",
        "https://*.example",
        "https://agents.example/",
        "https://agents.example/path",
        "https://agents.example?",
        "https://agents.example#",
        "https://agents.example:",
        "https://agents.example:99999",
        "https://user@agents.example",
        "ftp://agents.example",
        "https://agénts.example",
    ],
)
def test_configured_origin_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the message is the URL parser's for ports
        parse_origin(text)
