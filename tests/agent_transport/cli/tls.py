"""What ends TLS in front of a listener of ours: it leaves every byte of the request alone."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "127.0.0.1"


class Tls:
    """A certificate for 127.0.0.1, and who trusts it. `authority` is a file."""

    def __init__(self, directory: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self.authority = directory / "authority.pem"
        self.authority.write_bytes(_certificate(key).public_bytes(serialization.Encoding.PEM))
        private = directory / "server.pem"
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(self.authority, private)
        self.client = ssl.create_default_context(cafile=str(self.authority))


class Proxy:
    """Ends TLS at `url`, and passes on to the plain HTTP at `target` once there is one."""

    def __init__(self, port: int) -> None:
        self.url = f"https://{HOST}:{port}"
        self.target: int | None = None
        self.tasks: set[asyncio.Task[None]] = set()


@asynccontextmanager
async def proxy(tls: Tls) -> AsyncGenerator[Proxy]:
    """A proxy from entry to exit."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert proxy.target is not None
        task = asyncio.current_task()
        assert task is not None
        proxy.tasks.add(task)
        task.add_done_callback(proxy.tasks.discard)
        inner_reader, inner_writer = await asyncio.open_connection(HOST, proxy.target)
        try:
            await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
        except OSError:
            pass  # one of the two sides is gone, and so is the other one now
        finally:
            inner_writer.transport.abort()
            writer.transport.abort()

    listening = await asyncio.start_server(pass_on, HOST, 0, ssl=tls.server)
    proxy = Proxy(listening.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        listening.close()
        for task in proxy.tasks:
            task.cancel()
        await asyncio.gather(*proxy.tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    with contextlib.suppress(OSError, NotImplementedError):
        writer.write_eof()
    writer.transport.close()


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])
    return (
        x509.CertificateBuilder(name, name, key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
