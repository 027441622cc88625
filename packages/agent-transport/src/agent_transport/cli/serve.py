"""`agent-transport serve`: one session over one carrier, until its peer leaves or a signal comes.

The first SIGINT or SIGTERM ends it in good order, a second one ends the process.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import traceback
from typing import Any

from agent_transport.cli.arguments import Arguments
from agent_transport.cli.carriers import Carrier, loopback, remote, stdio
from agent_transport.cli.target import TargetUnusable, find, opened
from agent_transport.errors import AgentTransportError, PeerGone
from agent_transport.mcp import SubmissionTool

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def carrier_for(given: Arguments) -> Carrier:
    """What the words ask for. All values are checked; nothing is started or written.

    Raises:
        ConfigurationError: naming the first value that breaks a rule.
    """
    name = given.submit_name
    submission = SubmissionTool() if name is None else SubmissionTool(name)
    if given.http_token_file is not None:
        return loopback(given.http_token_file, given.port or 0, submission)
    return stdio(submission) if given.public_url is None else remote(given, submission)


def run(target: str, carrier: Carrier) -> int:
    """Serve the target; the exit code."""
    try:
        carrier.take_streams()  # before any code of the target's can print
        found = find(target)
        with asyncio.Runner(loop_factory=carrier.new_loop) as runner:
            runner.run(_until_stopped(found, carrier))
    except PeerGone:
        return 0
    except TargetUnusable as error:
        print(f"agent-transport: error: {error}", file=sys.stderr)
        return 2
    except AgentTransportError as error:
        print(f"agent-transport: {error}", file=sys.stderr)
        return 1
    except Exception:  # the target's own code: whoever wrote it wants to see where
        traceback.print_exc()
        return 1
    return 0


async def _until_stopped(found: Any, carrier: Carrier) -> None:
    loop = asyncio.get_running_loop()
    serving = asyncio.create_task(_serve(found, carrier), name="serve")

    def stop() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        serving.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    await asyncio.wait([serving])
    if not serving.cancelled():
        serving.result()


async def _serve(found: Any, carrier: Carrier) -> None:
    async with opened(found) as session:
        await carrier.serve(session)
