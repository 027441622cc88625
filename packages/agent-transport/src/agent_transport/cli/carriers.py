"""The three ways in which the command line serves a session."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import uvloop

from agent_transport.admission import AuditRecord, build_authorization
from agent_transport.cli.arguments import Arguments
from agent_transport.cli.standard_output import StandardOutput
from agent_transport.cli.token_file import TokenFile
from agent_transport.listen_address import check_address
from agent_transport.mcp import (
    McpLoopbackHost,
    McpRemoteHost,
    SubmissionTool,
    create_mcp_transport,
)
from agent_transport.mcp.standard_streams import take_standard_streams
from agent_transport.session import McpTransportSession

_LOOPBACK = "127.0.0.1"
_log = logging.getLogger("agent_transport.audit")


@dataclass(frozen=True, slots=True)
class Carrier:
    """`serve` returns when the peer has left; cancelled, it ends what it serves.

    `take_streams` must be called before any foreign code runs.
    """

    serve: Callable[[McpTransportSession], Awaitable[None]]
    take_streams: Callable[[], object]
    new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None


def stdio(submission: SubmissionTool) -> Carrier:
    """Over this process's standard streams."""

    async def serve(session: McpTransportSession) -> None:
        transport = create_mcp_transport(submission=submission)
        transport.attach(session)
        try:
            await transport.start()
            await transport.wait_closed()
        finally:
            await transport.stop()

    return Carrier(serve, take_standard_streams)


def loopback(path: str, port: int, submission: SubmissionTool) -> Carrier:
    """On 127.0.0.1, for whoever can read the bearer in the file."""
    check_address(_LOOPBACK, port)
    output = StandardOutput()
    token_file = TokenFile(path)

    async def serve(session: McpTransportSession) -> None:
        host = McpLoopbackHost(session, port=port, submission=submission)
        try:
            listening = await host.start()
            with token_file.holding(listening.token):
                _notice(f"serving at {listening.url}; the bearer is in {token_file.path}")
                output.tell({"url": listening.url, "token_file": str(token_file.path)})
                await host.wait_closed()
        finally:
            await host.stop()

    return Carrier(serve, output.take, uvloop.new_event_loop)


def remote(given: Arguments, submission: SubmissionTool) -> Carrier:
    """Beyond this machine, for whoever has an access token of the issuer."""
    from agent_transport.admission.https_fetch import HttpsFetch
    from agent_transport.admission.jwt import build_jwt_verifier  # needs the extra `jwt`

    host = _LOOPBACK if given.host is None else given.host
    port = given.port or 0
    check_address(host, port)
    verifier = build_jwt_verifier(
        issuer=given.issuer or "",
        public_url=given.public_url or "",
        scopes=given.scope,
        subjects=given.allow_subject,
        clients=given.allow_client,
        fetch=HttpsFetch(),
        clock=time.monotonic,
        wall_clock=time.time,
    )
    authorization = build_authorization(
        public_url=given.public_url or "",
        issuer=given.issuer or "",
        scopes=given.scope,
        verifier=verifier,
        trusted_proxies=given.trusted_proxy,
        audit=_log_refusal,
    )
    output = StandardOutput()

    async def serve(session: McpTransportSession) -> None:
        remote_host = McpRemoteHost(
            session, authorization=authorization, host=host, port=port, submission=submission
        )
        try:
            listening = await remote_host.start()
            address = listening.address.authority
            _notice(f"serving {listening.url} at {address}")
            output.tell({"url": listening.url, "listening": address})
            await remote_host.wait_closed()
        finally:
            await remote_host.stop()
            await verifier.close()

    return Carrier(serve, output.take, uvloop.new_event_loop)


def _log_refusal(record: AuditRecord) -> None:
    """A throttled one is left out: strangers could fill the log with them."""
    if not record.throttled:
        _log.warning(
            "token_refused reason=%s address_class=%s", record.reason, record.address_class
        )


def _notice(text: str) -> None:
    print(f"agent-transport: {text}", file=sys.stderr, flush=True)
