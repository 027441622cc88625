"""Reading the Authorization header: one token or one fault, whatever bytes arrive."""

from __future__ import annotations

import hmac
import secrets
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import (
    MAX_TOKEN_BYTES,
    Bearer,
    BearerFault,
    is_expected,
    mint_bearer,
    parse_bearer,
    prefixed_shape,
)

Header = tuple[bytes, bytes]


def authorization(*values: bytes) -> list[Header]:
    return [(b"host", b"x"), *((b"authorization", value) for value in values)]


@pytest.mark.parametrize(
    "value",
    [
        b"Bearer abc",
        b"bearer abc",
        b"BEARER abc",
        b"bEaReR   abc",
        b" Bearer abc ",
        b"Bearer abc\t",
    ],
)
def test_scheme_is_read_in_any_case_and_blanks_are_forgiven(value: bytes) -> None:
    assert parse_bearer(authorization(value)) == Bearer("abc")


@pytest.mark.parametrize("token", [b"a", b"a-._~+/9Z", b"abc=", b"abc==", b"ey.J0.x_y-z"])
def test_every_character_of_rfc_6750_is_a_token_character(token: bytes) -> None:
    assert parse_bearer(authorization(b"Bearer " + token)) == Bearer(token.decode())


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ([], BearerFault.MISSING),
        ([b""], BearerFault.MISSING),
        ([b"Basic YTpi"], BearerFault.MISSING),
        ([b"Bearerabc"], BearerFault.MISSING),
        ([b"Bearer\tabc"], BearerFault.MISSING),
        ([b"sbk_abc"], BearerFault.MISSING),
        ([b"Bearer"], BearerFault.MALFORMED),
        ([b"Bearer "], BearerFault.MALFORMED),
        ([b"Bearer ="], BearerFault.MALFORMED),
        ([b"Bearer a=b"], BearerFault.MALFORMED),
        ([b"Bearer a b"], BearerFault.MALFORMED),
        ([b"Bearer a,Bearer b"], BearerFault.MALFORMED),
        ([b'Bearer "abc"'], BearerFault.MALFORMED),
        ([b"Bearer a\x00b"], BearerFault.MALFORMED),
        ([b"Bearer abc", b"Bearer abc"], BearerFault.DUPLICATE),
        ([b"Bearer abc", b""], BearerFault.DUPLICATE),
        ([b"Basic YTpi", b"Bearer abc"], BearerFault.DUPLICATE),
        ([b"Bearer \xc3\xa9"], BearerFault.NON_ASCII),
        ([b"Bearer abc\xff"], BearerFault.NON_ASCII),
        ([b"Be\xe4rer abc"], BearerFault.NON_ASCII),
        ([b"Bearer " + b"a" * (MAX_TOKEN_BYTES + 1)], BearerFault.OVERSIZE),
    ],
)
def test_what_is_not_exactly_one_bearer_is_a_fault(values: list[bytes], fault: BearerFault) -> None:
    assert parse_bearer(authorization(*values)) is fault


def test_longest_token_allowed_is_read() -> None:
    token = b"a" * MAX_TOKEN_BYTES
    assert parse_bearer(authorization(b"Bearer " + token)) == Bearer(token.decode())


def test_cookies_and_other_headers_carry_no_credential() -> None:
    headers = [(b"cookie", b"authorization=Bearer abc"), (b"proxy-authorization", b"Bearer abc")]
    assert parse_bearer(headers) is BearerFault.MISSING


@given(st.lists(st.tuples(st.sampled_from([b"authorization", b"x"]), st.binary(max_size=64))))
def test_any_bytes_give_a_token_or_a_fault(headers: list[Header]) -> None:
    parsed = parse_bearer(headers)
    assert isinstance(parsed, Bearer | BearerFault)
    if isinstance(parsed, Bearer):
        assert parsed.token.isascii()
        assert not set(parsed.token) & set(' \t\r\n,"')


@given(st.text("abcXYZ019-._~+/", min_size=1), st.sampled_from(["Bearer ", "bearer  "]))
def test_every_well_formed_token_is_read_back_whole(token: str, scheme: str) -> None:
    assert parse_bearer(authorization(f"{scheme}{token}".encode())) == Bearer(token)


def test_long_hostile_header_costs_no_more_than_its_length() -> None:
    hostile = [b"Bearer " + b" " * 500_000 + b"!", b"Bearer " + b"=" * 500_000, b" " * 500_000]
    began_s = time.process_time()
    for value in hostile:
        assert isinstance(parse_bearer(authorization(value), max_bytes=1_000_000), BearerFault)
    assert time.process_time() - began_s < 0.5


SBK = prefixed_shape(b"sbk_", 43)


@pytest.mark.parametrize(
    ("token", "fits"),
    [
        (b"sbk_" + b"a" * 43, True),
        (b"sbk_" + b"-_" + b"Z9" * 20 + b"x", True),
        (b"sbk_" + b"a" * 42, False),
        (b"sbk_" + b"a" * 44, False),
        (b"sbo_" + b"a" * 43, False),
        (b"SBK_" + b"a" * 43, False),
        (b"sbk_" + b"a" * 42 + b".", False),
        (b"sbk_" + b"a" * 42 + b"=", False),
        (b"", False),
    ],
)
def test_credential_of_another_shape_is_malformed_without_a_look_up(
    token: bytes, fits: bool
) -> None:
    parsed = parse_bearer(authorization(b"Bearer " + token), shape=SBK)
    assert parsed == (Bearer(token.decode()) if fits else BearerFault.MALFORMED)


def test_token_is_in_no_repr() -> None:
    assert "secret" not in repr(Bearer("secret"))


def test_minted_bearer_is_256_fresh_bits_in_hexadecimal() -> None:
    minted = {mint_bearer(secrets.token_bytes) for _ in range(100)}
    assert len(minted) == 100
    assert all(len(bytes.fromhex(bearer)) == 32 and len(bearer) == 64 for bearer in minted)


def test_bearer_is_not_minted_from_too_little_entropy() -> None:
    with pytest.raises(ValueError, match="too few"):
        mint_bearer(lambda _: b"short")


def test_minted_bearer_passes_the_parser() -> None:
    minted = mint_bearer(secrets.token_bytes)
    assert parse_bearer(authorization(b"Bearer " + minted.encode())) == Bearer(minted)


@pytest.mark.parametrize(
    ("presented", "expected", "same"),
    [("abc", "abc", True), ("abc", "abd", False), ("abc", "abcd", False), ("abc", "", False)],
)
def test_only_the_expected_bearer_is_the_expected_bearer(
    presented: str, expected: str, same: bool
) -> None:
    assert is_expected(Bearer(presented), expected) is same


def test_expected_token_that_was_left_empty_admits_nobody() -> None:
    assert not is_expected(Bearer(""), "")


def test_comparison_takes_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def note(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return False

    monkeypatch.setattr(hmac, "compare_digest", note)
    assert not is_expected(Bearer("abc"), "abc")
    assert compared == [(b"abc", b"abc")]
