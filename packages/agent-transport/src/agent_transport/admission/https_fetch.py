"""Getting a small document by https: one request, no redirect, and never from the inside.

The host is resolved first, every address judged, and the connection made to a judged address.
A client library would resolve again, and the second answer may be another one. Needs httptools.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv6Network
from urllib.parse import SplitResult, urlsplit

import httptools

from agent_transport.admission.authority import authorities
from agent_transport.admission.client_address import AddressClass, address_class, parse_address
from agent_transport.admission.fetch import FETCH_BOUND_S, MAX_DOCUMENT_BYTES, FetchFailed

_HEAD_BYTES = 16 * 1024
_READ_BYTES = 16 * 1024
_TUNNELS = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))
"""Addresses that carry an IPv4 address inside, and so may lead to a private one."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as text. Raises OSError when there are none."""


class HttpsFetch:
    """A `Fetch` over TLS with the system's certificate authorities, or those of `context`."""

    def __init__(
        self,
        *,
        context: ssl.SSLContext | None = None,
        resolve: Resolve | None = None,
        bound_s: float = FETCH_BOUND_S,
    ) -> None:
        self._context = context or ssl.create_default_context()
        self._resolve = resolve or _resolve
        self._bound_s = bound_s

    async def __call__(self, url: str, *, may_be_private: bool) -> bytes:
        try:
            async with asyncio.timeout(self._bound_s):
                return await self._get(url, may_be_private)
        except TimeoutError as error:
            raise FetchFailed("no answer in time") from error
        except (OSError, ValueError) as error:
            raise FetchFailed(f"no connection: {type(error).__name__}") from error

    async def _get(self, url: str, may_be_private: bool) -> bytes:
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            raise FetchFailed("not an https URL")
        port = parts.port or 443
        address = await self._judged_address(parts.hostname, port, may_be_private)
        reader, writer = await asyncio.open_connection(
            address, port, ssl=self._context, server_hostname=parts.hostname
        )
        try:
            writer.write(_request(parts, parts.hostname, port))
            return await _read_document(reader)
        finally:
            writer.transport.abort()

    async def _judged_address(self, host: str, port: int, may_be_private: bool) -> str:
        addresses = await self._resolve(host, port)
        # One private address among public ones is enough to be refused: which of them is
        # connected to would otherwise be up to whoever wrote the answer.
        if not may_be_private and not all(map(_is_public, addresses)):
            raise FetchFailed("the host is not on the public network")
        if not addresses:
            raise FetchFailed("the host has no address")
        return addresses[0]


class _Response:
    """The httptools events of one response."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.is_complete = False

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.is_complete = True


async def _read_document(reader: asyncio.StreamReader) -> bytes:
    response, received = _Response(), 0
    parser = httptools.HttpResponseParser(response)
    while not response.is_complete:
        data = await reader.read(_READ_BYTES)
        received += len(data)
        # Framing counts too: headers or chunk marks without end are no document either.
        if not data or received > MAX_DOCUMENT_BYTES * 2 + _HEAD_BYTES:
            raise FetchFailed("the answer is cut off or too large")
        _feed(parser, data)
        if len(response.body) > MAX_DOCUMENT_BYTES:
            raise FetchFailed("the document is too large")
    status = parser.get_status_code()
    if status != 200:
        raise FetchFailed(f"status {status}")
    return bytes(response.body)


def _feed(parser: httptools.HttpResponseParser, data: bytes) -> None:
    try:
        parser.feed_data(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
        raise FetchFailed("the answer is not HTTP") from error


def _request(parts: SplitResult, host: str, port: int) -> bytes:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authority = min(authorities("https", host, port), key=len)
    return (
        f"GET {target} HTTP/1.1\r\nHost: {authority}\r\nAccept: application/json\r\n"
        "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
    ).encode("ascii")


def _is_public(text: str) -> bool:
    address = parse_address(text)
    if address is None or address.is_multicast or any(address in net for net in _TUNNELS):
        return False
    return address_class(address) is AddressClass.PUBLIC


async def _resolve(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
