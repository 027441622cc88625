"""Minting and hashing of secrets. Randomness is passed in; only hashes are ever stored."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable

RandomBytes = Callable[[int], bytes]
"""`secrets.token_bytes` in the service; a seeded source in tests."""

CREDENTIAL = re.compile(r"sbk_[A-Za-z0-9_-]{43}")
OPERATOR_TOKEN = re.compile(r"sbo_[A-Za-z0-9_-]{43}")
LEASE_TOKEN = re.compile(r"lt_[a-z2-7]{20}")

DISPLAY_PREFIX_CHARS = 8
"""`sbk_` and four characters: enough to tell two credentials apart, 2^-24 of the secret."""


def mint_credential(random_bytes: RandomBytes) -> str:
    """A new endpoint credential: `sbk_` and 256 bits in base64url."""
    return "sbk_" + _base64url(random_bytes(32))


def mint_operator_token(random_bytes: RandomBytes) -> str:
    """A new operator token: `sbo_` and 256 bits in base64url."""
    return "sbo_" + _base64url(random_bytes(32))


def mint_lease_token(random_bytes: RandomBytes) -> str:
    """A new lease token: `lt_` and 20 base32 characters, which models copy without slips."""
    return "lt_" + base64.b32encode(random_bytes(13)).decode("ascii")[:20].lower()


def mint_slug(agent: str, random_bytes: RandomBytes) -> str:
    """The path part of an endpoint: the agent's name and 32 random bits."""
    return f"{agent}-{random_bytes(4).hex()}"


def hash_secret(secret: str) -> bytes:
    """SHA-256 of a minted secret. All have at least 100 random bits, so no slow hash is needed."""
    return hashlib.sha256(secret.encode("utf-8")).digest()


def display_prefix(secret: str) -> str:
    """The part of a secret that may be shown again."""
    return secret[:DISPLAY_PREFIX_CHARS]


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
