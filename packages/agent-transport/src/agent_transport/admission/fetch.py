"""The contract for getting a small document from an authorization server."""

from __future__ import annotations

from typing import Protocol

MAX_DOCUMENT_BYTES = 64 * 1024
FETCH_BOUND_S = 10.0


class FetchFailed(Exception):
    """There is no document to be had: refused, too slow, too large, or not there."""


class Fetch(Protocol):
    """Gets one document by https, without following redirects.

    The body of a 200 answer, at most MAX_DOCUMENT_BYTES of it. With `may_be_private` False a
    host that resolves to an address which is not public is refused, and the connection goes to
    the very address that was judged.

    Raises:
        FetchFailed: in every other case.
    """

    async def __call__(self, url: str, *, may_be_private: bool) -> bytes: ...
