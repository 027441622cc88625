from __future__ import annotations

import secrets

from hypothesis import given
from hypothesis import strategies as st

from switchboard.domain.identifier import IDENTIFIER, TODO_ID, mint_identifier

_TIMES = st.integers(min_value=0, max_value=(1 << 48) - 1)


def _zeros(count: int) -> bytes:
    return bytes(count)


def _ones(count: int) -> bytes:
    return b"\xff" * count


@given(_TIMES, _TIMES)
def test_an_identifier_of_a_later_millisecond_sorts_later(one: int, other: int) -> None:
    first, last = sorted((one, other))
    if first != last:
        assert mint_identifier("td", first, _ones) < mint_identifier("td", last, _zeros)


@given(_TIMES, st.binary(min_size=10, max_size=10))
def test_every_identifier_has_the_promised_shape(at_ms: int, raw: bytes) -> None:
    minted = mint_identifier("td", at_ms, lambda _: raw)
    assert IDENTIFIER.fullmatch(minted)
    assert TODO_ID.fullmatch(minted)


def test_identifiers_of_one_millisecond_differ() -> None:
    minted = {mint_identifier("td", 1_767_323_045_678, secrets.token_bytes) for _ in range(1_000)}
    assert len(minted) == 1_000


def test_an_identifier_of_another_kind_is_no_todo_id() -> None:
    assert not TODO_ID.fullmatch(mint_identifier("ep", 1, _zeros))
