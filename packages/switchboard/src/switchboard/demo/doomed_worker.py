"""A worker that claims a todo and then never finishes: the demo kills it.

It reads its URL and its credential from standard input, says `ready`, and says the id of the todo
that it has claimed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from switchboard.demo.agent import connected

WAIT_SECONDS = 25


async def main() -> None:
    """Claim, and work until killed."""
    logging.getLogger().addHandler(logging.NullHandler())
    told = json.loads(sys.stdin.readline())
    async with connected(told["url"], told["credential"]) as agent:
        _say("ready")
        claimed = await agent.call("claim", wait_seconds=WAIT_SECONDS)
        _say(claimed["id"])
        await asyncio.Event().wait()


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
