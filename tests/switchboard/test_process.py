"""What the process does when its ledger fails it, and what it is behind a proxy."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from switchboard.data_directory import DataDirectory
from switchboard.process import Ready, serve
from switchboard.settings import load_settings
from switchboard.stores.sqlite.writer import Writer
from tests.service_process import BOUND_S, serving
from tests.specification import requirement


@pytest.fixture
def process_settings_restored() -> Iterator[None]:
    umask, thresholds = os.umask(0o022), gc.get_threshold()
    yield
    os.umask(umask)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("process_settings_restored")
async def test_a_writer_that_dies_ends_the_process_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def dies(*_: object) -> None:
        raise SystemExit("no code handles this")

    settings = load_settings({"data_dir": str(tmp_path / "data"), "port": "0"}, {}, tmp_path)
    ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
    serving_task = asyncio.create_task(serve(settings, ready.set_result))
    async with asyncio.timeout(BOUND_S):
        url = (await ready).url
        token = DataDirectory(settings.data_dir).read_token()
        monkeypatch.setattr(Writer, "_commit", dies)
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=BOUND_S) as client:
            answer = await client.post(
                "/api/v1/todos",
                json={"title": "Lost", "queue": "inbox"},
                headers={"authorization": f"Bearer {token}"},
            )
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert await serving_task == 1
    assert "ledger_gave_up" in caplog.messages


@pytest.mark.usefixtures("process_settings_restored")
async def test_start_up_settles_memory_and_keeps_files_to_their_owner(tmp_path: Path) -> None:
    settings = load_settings({"data_dir": str(tmp_path / "data"), "port": "0"}, {}, tmp_path)
    seen: list[tuple[int, int, int]] = []
    stopping = asyncio.Event()

    def on_ready(_: Ready) -> None:
        seen.append(gc.get_threshold())
        assert gc.get_freeze_count() > 0
        stopping.set()

    serving_task = asyncio.create_task(serve(settings, on_ready))
    async with asyncio.timeout(BOUND_S):
        await stopping.wait()
        modes = {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "data").iterdir()}
        os.kill(os.getpid(), signal.SIGTERM)
        assert await serving_task == 0
    assert modes == {0o600}
    assert seen == [(20_000, 50, 100)]


@requirement("SPEC-0014/secrets/plain-http-behind-proxy")
async def test_it_speaks_plain_http_on_loopback_and_shows_the_proxys_url(tmp_path: Path) -> None:
    settings = {"public_url": "https://board.example/sb"}
    async with serving(tmp_path, settings=settings) as service:
        assert service.url.startswith("http://127.0.0.1:")
        vended = await service.vend("inbox")
        path = f"/sb/mcp/{vended['endpoint']['slug']}"
        assert vended["url"] == f"https://board.example{path}"
        async with httpx.AsyncClient(base_url=service.url, trust_env=False) as client:
            answer = await client.post(
                path.removeprefix("/sb"),
                headers={
                    "host": "board.example",
                    "authorization": f"Bearer {vended['credential']}",
                },
            )
        assert answer.status_code not in (401, 403, 404)
