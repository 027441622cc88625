"""Fetching a document over real TLS: what is taken, and all that is not."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="makes the certificate")
pytest.importorskip("httptools", reason="fetching is part of an extra")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agent_transport.admission.fetch import MAX_DOCUMENT_BYTES, FetchFailed
from agent_transport.admission.https_fetch import HttpsFetch

KEY = ec.generate_private_key(ec.SECP256R1())
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def certificate() -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "login.example")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("login.example"), x509.IPAddress(ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder(name, name, KEY.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(KEY, hashes.SHA256())
    )


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server context with a certificate of its own, and a client context that trusts it."""
    path: Path = tmp_path_factory.mktemp("tls") / "server.pem"
    made = certificate().public_bytes(serialization.Encoding.PEM)
    key = KEY.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(key + made)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cadata=made.decode())


class Server:
    """Answers every request with the same pieces, and keeps what it was asked."""

    def __init__(self, fetch: HttpsFetch, port: int, requests: list[bytes]) -> None:
        self.fetch = fetch
        self.port = port
        self.requests = requests

    async def get(self, *, may_be_private: bool = True, path: str = "/keys?a=1") -> bytes:
        url = f"https://login.example:{self.port}{path}"
        return await self.fetch(url, may_be_private=may_be_private)


@asynccontextmanager
async def serving(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
    *pieces: bytes,
    addresses: Sequence[str] = ("127.0.0.1",),
    hang: bool = False,
) -> AsyncGenerator[Server]:
    requests: list[bytes] = []
    over = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            if hang:
                await over.wait()
        except OSError:
            pass
        finally:
            writer.transport.abort()

    async def resolve(host: str, port: int) -> Sequence[str]:
        assert host == "login.example"
        return addresses

    server_context, client_context = contexts
    listening = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=server_context)
    port = listening.sockets[0].getsockname()[1]
    fetch = HttpsFetch(context=client_context, resolve=resolve, bound_s=0.3 if hang else 5)
    async with listening:
        try:
            yield Server(fetch, port, requests)
        finally:
            over.set()


Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


@pytest.mark.parametrize(
    "pieces",
    [
        (OK + b"Content-Length: 2\r\n\r\n{}",),
        (OK + b"Content-Length: 2\r\n\r\n", b"{", b"}"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n{\r\n1\r\n}\r\n", b"0\r\n\r\n"),
    ],
)
async def test_document_is_fetched_in_any_framing(
    contexts: Contexts, pieces: tuple[bytes, ...]
) -> None:
    async with serving(contexts, *pieces) as server:
        assert await server.get() == b"{}"
        (asked,) = server.requests
    assert asked.startswith(b"GET /keys?a=1 HTTP/1.1\r\n")
    assert f"Host: login.example:{server.port}\r\n".encode() in asked


async def test_document_of_exactly_the_limit_is_taken_and_one_byte_more_is_not(
    contexts: Contexts,
) -> None:
    for size, fits in ((MAX_DOCUMENT_BYTES, True), (MAX_DOCUMENT_BYTES + 1, False)):
        answer = OK + b"Content-Length: %d\r\n\r\n" % size + b"x" * size
        async with serving(contexts, answer) as server:
            if fits:
                assert len(await server.get()) == size
            else:
                with pytest.raises(FetchFailed, match="too large"):
                    await server.get()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: https://x\r\nContent-Length: 0\r\n\r\n", "status 302"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404"),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}", "status 500"),
        (OK + b"Content-Length: 9\r\n\r\n{}", "cut off"),
        (b"", "cut off"),
        (b"220 mail.example ready\r\n", "not HTTP"),
        (OK + b"X: " + b"h" * 200_000, "too large"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 40_000, "too large"),
    ],
)
async def test_any_other_answer_is_no_document(
    contexts: Contexts, answer: bytes, problem: str
) -> None:
    async with serving(contexts, answer) as server:
        with pytest.raises(FetchFailed, match=problem):
            await server.get()


async def test_answer_that_never_ends_is_given_up(contexts: Contexts) -> None:
    async with serving(contexts, OK, hang=True) as server:
        with pytest.raises(FetchFailed, match="in time"):
            await server.get()


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["0.0.0.0"],
        ["::1"],
        ["fd00::1"],
        ["fe80::1%eth0"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["224.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["rubbish"],
    ],
)
async def test_host_that_resolves_to_the_inside_is_refused_without_a_connection(
    contexts: Contexts, addresses: list[str]
) -> None:
    async with serving(contexts, OK, addresses=addresses) as server:
        with pytest.raises(FetchFailed, match="public network"):
            await server.get(may_be_private=False)
        assert server.requests == []


async def test_host_without_an_address_is_refused(contexts: Contexts) -> None:
    async with serving(contexts, addresses=[]) as server:
        with pytest.raises(FetchFailed, match="no address"):
            await server.get()


async def test_certificate_that_nobody_vouches_for_is_refused(contexts: Contexts) -> None:
    stranger = contexts[0], ssl.create_default_context()
    async with serving(stranger, OK + b"Content-Length: 2\r\n\r\n{}") as server:
        with pytest.raises(FetchFailed, match="no connection"):
            await server.get()
        assert server.requests == []


@pytest.mark.parametrize("url", ["http://login.example/keys", "https:///keys", "file:///x"])
async def test_anything_but_https_is_refused(url: str) -> None:
    with pytest.raises(FetchFailed, match="https"):
        await HttpsFetch()(url, may_be_private=True)


async def test_literal_address_is_judged_like_any_other() -> None:
    with pytest.raises(FetchFailed, match="public network"):
        await HttpsFetch()("https://127.0.0.1:1/keys", may_be_private=False)
