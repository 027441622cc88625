"""The Authorization header: one bearer token, or the fault that keeps it from being one.

Minting and comparing the bearer of this machine stand here too. Whether a token is any good is
the verifier's business.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

MAX_TOKEN_BYTES = 8192
"""Longer than any access token in use, and half of what a listener lets all headers weigh."""

MINTED_BYTES = 32
"""256 bits: nobody guesses one, so a wrong one needs no throttle to be safe."""

_TOKEN68 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
_BASE64URL = _TOKEN68.translate(None, b".~+/")

Shape = Callable[[bytes], bool]
"""Whether bytes can be a token at all. Runs before any lookup, so it must be linear in time."""


class BearerFault(StrEnum):
    """Why a request carries no usable bearer."""

    MISSING = "missing"
    DUPLICATE = "duplicate"
    MALFORMED = "malformed"
    NON_ASCII = "non_ascii"
    OVERSIZE = "oversize"


@dataclass(frozen=True, slots=True)
class Bearer:
    """A well-formed token, not yet verified. Its text is kept out of every repr."""

    token: str = field(repr=False)


def is_token68(token: bytes) -> bool:
    """Tell whether the bytes are an RFC 6750 §2.1 `b64token`."""
    body = token.rstrip(b"=")
    return bool(body) and not body.translate(None, _TOKEN68)


def prefixed_shape(prefix: bytes, length: int) -> Shape:
    """The shape `prefix` + exactly `length` base64url characters.

    With it a malformed credential is refused by arithmetic alone, without a store read.
    """
    total = len(prefix) + length

    def fits(token: bytes) -> bool:
        return (
            len(token) == total
            and token.startswith(prefix)
            and not token[len(prefix) :].translate(None, _BASE64URL)
        )

    return fits


def parse_bearer(
    headers: Iterable[tuple[bytes, bytes]],
    *,
    shape: Shape = is_token68,
    max_bytes: int = MAX_TOKEN_BYTES,
) -> Bearer | BearerFault:
    """Read the bearer of a request from its headers (names in lower case).

    Exactly one Authorization header counts: with two, a proxy and we could each believe another.
    Cookies and query parameters are never looked at. Another scheme than Bearer is MISSING.
    """
    found: bytes | None = None
    for name, value in headers:
        if name == b"authorization":
            if found is not None:
                return BearerFault.DUPLICATE
            found = value
    if found is None:
        return BearerFault.MISSING
    return _parse_credentials(found, shape, max_bytes)


def _parse_credentials(value: bytes, shape: Shape, max_bytes: int) -> Bearer | BearerFault:
    # partition and strip, no regular expression: a pattern here once backtracked for seconds.
    scheme, _, rest = value.strip(b" \t").partition(b" ")
    if scheme.lower() != b"bearer":
        return BearerFault.MISSING if scheme.isascii() else BearerFault.NON_ASCII
    token = rest.lstrip(b" ")
    if len(token) > max_bytes:
        return BearerFault.OVERSIZE
    if not token.isascii():
        return BearerFault.NON_ASCII
    if not shape(token):
        return BearerFault.MALFORMED
    return Bearer(token.decode("ascii"))


def mint_bearer(entropy: Callable[[int], bytes]) -> str:
    """Mint 64 hexadecimal characters from 32 bytes of `entropy` (`secrets.token_bytes`).

    Raises:
        ValueError: `entropy` gave another number of bytes.
    """
    drawn = entropy(MINTED_BYTES)
    if len(drawn) != MINTED_BYTES:
        raise ValueError("the source of entropy gave too few bytes")
    return drawn.hex()


def is_expected(presented: Bearer, expected: str) -> bool:
    """Compare in constant time. An empty `expected` admits nobody: it is a setting left out."""
    return bool(expected) and hmac.compare_digest(presented.token.encode(), expected.encode())
