"""One process that serves: holds the data directory, listens, and ends on a signal."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_transport.errors import AgentTransportError
from agent_transport.listen_address import bind, bound_address
from agent_transport.listener import Listener
from agent_transport.socket_limits import SocketLimits
from switchboard import __version__
from switchboard.app import Service
from switchboard.data_directory import DataDirectory, HeldDirectory
from switchboard.errors import SwitchboardError
from switchboard.settings import Settings

_log = logging.getLogger(__name__)

_GC_THRESHOLDS = (20_000, 50, 100)
"""With stock collection a full pass over 1,000 sessions cost 150 to 200 ms of everybody's time."""


class CannotServe(SwitchboardError):
    """The address cannot be listened on; the message says why."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What the one who started the service may want to know of it."""

    url: str
    local_url: str
    data_dir: Path
    pid: int


OnReady = Callable[[Ready], None]


async def serve(settings: Settings, on_ready: OnReady) -> int:
    """Serve until SIGTERM or SIGINT. Returns the exit code: 1 when the ledger gave up.

    Raises:
        DataDirectoryInUse: naming the pid of the process that holds the directory.
        CannotServe: the address is taken.
        SwitchboardError: the directory or the database cannot be used.
    """
    os.umask(0o077)  # the database's side files are made by SQLite, with what this leaves
    directory = DataDirectory(settings.data_dir)
    directory.prepare()
    for warning in settings.warnings:
        _log.warning("setting_warning", extra={"detail": warning})
    with directory.held() as held:
        try:
            return await _serve_held(settings, directory, held, on_ready)
        except AgentTransportError as error:
            raise CannotServe(str(error)) from error


async def _serve_held(
    settings: Settings, directory: DataDirectory, held: HeldDirectory, on_ready: OnReady
) -> int:
    given_up = asyncio.Event()
    host = "127.0.0.1" if settings.host == "localhost" else settings.host
    with bind(host, settings.port) as listening:
        service = Service(settings, directory, bound_address(listening), given_up.set)
        async with service:
            listener = Listener(
                service.application,
                sockets=(listening,),
                limits=SocketLimits(connections=settings.max_connections),
                on_drain=(service.drain,),
            )
            async with listener:
                held.announce(service.local_url)
                _settle_memory()
                ready = Ready(service.url, service.local_url, directory.path, os.getpid())
                # Told once the loop turns again: by then a signal ends the service in order.
                asyncio.get_running_loop().call_soon(_tell, ready, on_ready)
                await _serve_until_ended(listener, given_up)
    _log.info("stopped")
    return 1 if given_up.is_set() else 0


async def _serve_until_ended(listener: Listener, given_up: asyncio.Event) -> None:
    async def stop_when_given_up() -> None:
        await given_up.wait()
        _log.critical("ledger_gave_up")
        await listener.stop()

    watching = asyncio.create_task(stop_when_given_up(), name="watch the ledger")
    try:
        await listener.serve_until_signalled()
    finally:
        watching.cancel()
        await asyncio.wait([watching])


def _settle_memory() -> None:
    """Everything built so far stays for the process's life: collect it never again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def _tell(ready: Ready, on_ready: OnReady) -> None:
    extra = {"url": ready.url, "data_dir": str(ready.data_dir), "version": __version__}
    _log.info("started", extra=extra)
    on_ready(ready)
