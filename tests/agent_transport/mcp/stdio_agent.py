"""A program that serves a noisy session over its standard streams until its client leaves."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time

from agent_transport.mcp import create_mcp_transport, take_standard_streams
from agent_transport.session import CancelSignal, JsonObject, RuntimeTool, ToolEnvelope
from agent_transport.testing import FakeSession
from agent_transport.testing.fake_session import ECHO

NOISE = "noise-that-is-no-frame"
HANG_S = 120.0
_ANYTHING: JsonObject = {"type": "object"}


def make_noise() -> None:
    """Every way to standard output that there is."""
    print(NOISE, "print")  # noqa: T201  # what a careless tool does
    sys.stdout.write(f"{NOISE} write\n")
    sys.stdout.flush()
    os.write(1, f"{NOISE} descriptor\n".encode())
    logging.getLogger("some.library").error("%s log", NOISE)
    subprocess.run(["echo", NOISE, "child"], check=True)


def eat_input() -> ToolEnvelope:
    """What a tool, and a program that it starts, can read from standard input."""
    eaten = subprocess.run(["cat"], check=True, capture_output=True).stdout
    return ToolEnvelope(True, result=[sys.stdin.read(), eaten.decode()])


async def invoke(name: str, arguments: JsonObject, cancel: CancelSignal) -> ToolEnvelope:
    if name == "noise":
        make_noise()
    elif name == "eat":
        return await asyncio.to_thread(eat_input)
    elif name == "hang":
        await asyncio.to_thread(time.sleep, HANG_S)
    return ToolEnvelope(True, result=arguments)


async def main() -> None:
    # A library that was told to log to standard output, before anything was taken.
    logging.basicConfig(stream=sys.stdout, level=logging.ERROR)
    take_standard_streams()
    make_noise()
    names = ("noise", "eat", "hang")
    session = FakeSession([ECHO, *(RuntimeTool(name, name, _ANYTHING) for name in names)])
    session.invoke = invoke
    transport = create_mcp_transport()
    transport.attach(session)
    await transport.start()
    try:
        await transport.wait_closed()
    finally:
        await transport.stop()


if __name__ == "__main__":
    asyncio.run(main())
