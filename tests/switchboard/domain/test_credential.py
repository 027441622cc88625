from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable

import pytest

from switchboard.domain.credential import (
    CREDENTIAL,
    LEASE_TOKEN,
    OPERATOR_TOKEN,
    RandomBytes,
    display_prefix,
    hash_secret,
    mint_credential,
    mint_lease_token,
    mint_operator_token,
    mint_slug,
)

_MINTS = [
    pytest.param(mint_credential, CREDENTIAL, 47, id="credential"),
    pytest.param(mint_operator_token, OPERATOR_TOKEN, 47, id="operator-token"),
    pytest.param(mint_lease_token, LEASE_TOKEN, 23, id="lease-token"),
]


@pytest.mark.parametrize(("mint", "shape", "length"), _MINTS)
def test_every_minted_secret_has_its_shape_and_length(
    mint: Callable[[RandomBytes], str], shape: re.Pattern[str], length: int
) -> None:
    for _ in range(200):
        minted = mint(secrets.token_bytes)
        assert shape.fullmatch(minted)
        assert len(minted) == length


@pytest.mark.parametrize(("mint", "shape", "length"), _MINTS)
def test_a_secret_with_one_character_more_or_less_is_malformed(
    mint: Callable[[RandomBytes], str], shape: re.Pattern[str], length: int
) -> None:
    minted = mint(secrets.token_bytes)
    assert not shape.fullmatch(minted[: length - 1])
    assert not shape.fullmatch(minted + "a")
    assert not shape.fullmatch(minted + "\n")


def test_the_credential_carries_all_256_random_bits() -> None:
    assert mint_credential(lambda n: bytes(n)) != mint_credential(lambda n: bytes(n - 1) + b"\x01")


def test_a_lease_token_changes_with_its_hundredth_bit() -> None:
    last_used_bit = bytes(12) + b"\x10"
    assert mint_lease_token(lambda n: bytes(n)) != mint_lease_token(lambda _: last_used_bit)


def test_the_slug_is_the_agent_and_eight_hex_digits() -> None:
    assert mint_slug("code-reviewer", lambda _: b"\x00\xab\xcd\xef") == "code-reviewer-00abcdef"


def test_the_hash_is_sha256_and_the_prefix_shows_four_characters_of_the_secret() -> None:
    secret = "sbk_abcdefgh"
    assert hash_secret(secret) == hashlib.sha256(b"sbk_abcdefgh").digest()
    assert display_prefix(secret) == "sbk_abcd"
