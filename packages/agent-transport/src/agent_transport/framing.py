"""Where a message ends, and for whom it is: what llhttp and uvicorn leave open.

A proxy in front and this listener must never disagree about either. Whatever two readers could
read in two ways is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_TRANSFER_ENCODING = b"transfer-encoding"
TRANSFER_ENCODING_LENGTH = len(_TRANSFER_ENCODING)


def is_unsafe_framing(name: bytes, value: bytes, parser: Any) -> bool:
    """Whether a header frames the body in a way that not every reader knows.

    In HTTP/1.0 there is no such header: an old proxy forwards it and takes the body for the next
    request (RFC 9112 §6.1). A coding under `chunked` is one that nobody here would undo.
    """
    if name.lower() != _TRANSFER_ENCODING:
        return False
    return parser.get_http_version() != "1.1" or value.strip(b" \t").lower() != b"chunked"


def names_other_host(target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a target that is no path names another host than the Host header (RFC 9112 §3.2.2).

    Admission judges the Host header, so a target that overrules it would go unjudged.
    """
    if target == b"*":
        return False
    url = httptools.parse_url(target)
    host = b"[%s]" % url.host if b":" in url.host else url.host
    authority = b"%s:%d" % (host, url.port) if url.port else host
    hosts = [value.strip().lower() for name, value in headers if name == b"host"]
    return hosts != [authority.lower()]


class UnframedCycle(RequestResponseCycle):
    """The answer to an HTTP/1.0 request: what has no length ends with the connection.

    Such a client does not know chunks and would take their sizes for content (RFC 9112 §7.1).
    """

    _is_unframed = False

    async def send(self, message: Any) -> None:
        """As uvicorn's, without chunks."""
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", ())}
            self._is_unframed = b"content-length" not in names
            self.chunked_encoding = False if self._is_unframed else None
        elif self._is_unframed:
            self.expected_content_length = len(message.get("body", b""))
        await super().send(message)
