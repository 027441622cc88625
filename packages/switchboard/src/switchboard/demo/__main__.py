"""Tells the story once. Exit code 0: every step happened; 1: one did not, and it is named."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import AsyncExitStack

from switchboard.demo.narrator import Narrator, reason
from switchboard.demo.story import Story

STORY_BOUND_S = 60.0
"""An onlooker is asked for a minute at most. The story takes 20 s; a lapse is half of that."""
STEP_BOUND_S = 30.0
"""No step waits for ever. The longest, a lapse, takes 10 to 15 s."""
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def main() -> int:
    """The exit code."""
    interrupted = _end_on_signals()
    # The client logs what the story shows anyway, such as the end of a revoked session.
    logging.getLogger().addHandler(logging.NullHandler())
    narrator = Narrator()
    with narrator:
        stack = AsyncExitStack()
        story = Story(narrator.note, stack)
        try:
            async with stack, asyncio.timeout(STORY_BOUND_S):
                await _tell(story, narrator)
        except (asyncio.CancelledError, Exception) as error:
            # A client that is cut short in mid-call may end with an error of its own.
            why = "interrupted" if interrupted.is_set() else reason(error)
            narrator.broke_off(why, story.left())
        else:
            narrator.ended()
            return 0
    return 1


async def _tell(story: Story, narrator: Narrator) -> None:
    steps = story.steps()
    for number, (title, happen) in enumerate(steps, 1):
        narrator.begin(number, len(steps), title)
        async with asyncio.timeout(STEP_BOUND_S):
            await happen()
        narrator.done()


def _end_on_signals() -> asyncio.Event:
    """The first signal ends the story; those after it must not cut the tidying short."""
    loop, story = asyncio.get_running_loop(), asyncio.current_task()
    interrupted = asyncio.Event()
    assert story is not None

    def end() -> None:
        if not interrupted.is_set():
            interrupted.set()
            story.cancel()

    for number in _ENDINGS:
        loop.add_signal_handler(number, end)
    return interrupted


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
