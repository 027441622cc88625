"""Server processes: started on one core, watched from the other."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

START_BOUND_S = 60.0
STOP_BOUND_S = 30.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "SSL_CERT_FILE")


DATA_PARENT = Path(".data")
"""On the disk that a service would use; many machines keep /tmp in memory."""


@contextmanager
def scratch() -> Generator[Path]:
    """A directory for the data of one run."""
    DATA_PARENT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA_PARENT) as kept:
        yield Path(kept)


class ServerFault(Exception):
    """A server that did not start, or answered what it should not."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """One running server; `ready` is the line of JSON it printed when it served."""

    pid: int
    port: int
    ready: Mapping[str, Any]
    ready_after_s: float

    def cpu_s(self) -> float:
        """Processor time of all its threads, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def resident_mib(self) -> float:
        """Memory held now."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise ServerFault("the process has no memory")

    def exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: object = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request outside the measured time: status, headers in lower case, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_BOUND_S)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, dict(headers))
            answer = connection.getresponse()
            lines = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, lines, answer.read()
        finally:
            connection.close()


@contextmanager
def running(
    command: Sequence[str], settings: Mapping[str, str], probe: str | None = None
) -> Generator[ServerProcess]:
    """A server on the first core, ended at the end. It prints one JSON object when it serves.

    `probe`: a path that must answer 200 before the server counts as ready.
    """
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    began_s = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        with _on_server_core():
            process = subprocess.Popen(
                [sys.executable, *command],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**environment, **settings},
            )
        yield from _served(process, log, probe, began_s)


def _served(
    process: subprocess.Popen[bytes], log: IO[bytes], probe: str | None, began_s: float
) -> Generator[ServerProcess]:
    try:
        ready = _read_ready(process, log)
        if probe is not None:
            _wait_ok(ready["port"], probe)
        took_s = time.perf_counter() - began_s
        yield ServerProcess(process.pid, ready["port"], ready, took_s)
    finally:
        process.terminate()
        try:
            process.wait(STOP_BOUND_S)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()


def cores() -> tuple[int, int]:
    """The server's core and the load's: the first and the last that this process may use."""
    allowed = sorted(_ALLOWED)
    return allowed[0], allowed[-1]


_ALLOWED = os.sched_getaffinity(0)


@contextmanager
def _on_server_core() -> Generator[None]:
    """A child is born where its parent stands."""
    server, load = cores()
    os.sched_setaffinity(0, {server})
    try:
        yield
    finally:
        os.sched_setaffinity(0, {load})


def _read_ready(process: subprocess.Popen[bytes], log: IO[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    text = b""
    while not text.rstrip().endswith(b"}"):
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            log.seek(0)
            told = log.read()[-2_000:].decode("utf-8", "replace")
            raise ServerFault(f"the server ended with code {code}: {told}")
        text += line
    ready: dict[str, Any] = json.loads(text)
    if "port" not in ready:
        ready["port"] = int(str(ready["url"]).rpartition(":")[2])
    return ready


def _wait_ok(port: int, path: str) -> None:
    deadline_s = time.perf_counter() + START_BOUND_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_BOUND_S)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        finally:
            connection.close()
        if time.perf_counter() > deadline_s:
            raise ServerFault(f"{path} did not answer 200 in time")
