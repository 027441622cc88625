"""What holds for every test: nothing it started is still there when it ends.

The tests that race on purpose carry `@pytest.mark.concurrency`; their loop runs in debug mode,
which reports coroutines that were never awaited and calls into the loop from a foreign thread.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

THREAD_GRACE_S = 2.0
"""How long a thread that was told to stop may take to be gone: a join, not a sleep."""

POOL_THREAD_PREFIXES = ("asyncio_", "ThreadPoolExecutor", "AnyIO worker thread", "pytest_timeout")
"""Threads that a library keeps for reuse, idle, and that end with the interpreter."""


# A job that a shell runs in the background is deaf to interrupts, and so is all that it starts:
# the programs of the tests would never hear the Ctrl-C that they are sent.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if _started_since(thread, before)]
    deadline = time.monotonic() + THREAD_GRACE_S
    for thread in left:
        thread.join(max(0.0, deadline - time.monotonic()))
    alive = [thread.name for thread in left if thread.is_alive()]
    assert not alive, f"threads that outlived the test: {alive}"


@pytest_asyncio.fixture(autouse=True)
async def no_task_outlives_its_test(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Looks when the fixtures of the test have been torn down, for this one was set up first."""
    loop = asyncio.get_running_loop()
    loop.set_debug("concurrency" in request.keywords)
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    alive = [task for task in left if not await _ends(task)]
    assert not alive, f"tasks that outlived the test: {alive}"


def _started_since(thread: threading.Thread, before: set[threading.Thread]) -> bool:
    return thread not in before and not thread.name.startswith(POOL_THREAD_PREFIXES)


async def _ends(task: asyncio.Task[object]) -> bool:
    """Whether a task that was already cancelled gets to its end; nobody is cancelled here."""
    if task.cancelling():
        await asyncio.wait({task}, timeout=THREAD_GRACE_S)
    return task.done()
