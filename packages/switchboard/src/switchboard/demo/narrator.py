"""What the onlooker sees: plain lines, and on a terminal a bar below them."""

from __future__ import annotations

import re
import time
from types import TracebackType
from typing import Self, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from switchboard.demo.happened import DidNotHappen
from switchboard.domain.credential import CREDENTIAL, LEASE_TOKEN, OPERATOR_TOKEN
from switchboard.secret import MASK

_SECRET = re.compile("|".join(one.pattern for one in (CREDENTIAL, LEASE_TOKEN, OPERATOR_TOKEN)))


class Narrator:
    """Tells of one step at a time. A context manager: the bar is there within the block."""

    def __init__(self) -> None:
        self._console = Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        # ASCII alone: the output may go to a file or a terminal of any encoding.
        self._bar = Progress(
            SpinnerColumn("line"),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._step = "before the first step"
        self._began_s = self._step_began_s = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, number: int, of: int, title: str) -> None:
        """A step begins."""
        self._step = f"{number}/{of} {title}"
        self._step_began_s = time.monotonic()
        self._bar.update(self._task, description=title, completed=number - 1, total=of)
        self._console.print(self._step, style="bold")

    def note(self, text: str) -> None:
        """Something of note within the step."""
        self._console.print(f"    {text}")

    def done(self) -> None:
        """The step has happened."""
        took_s = time.monotonic() - self._step_began_s
        self._console.print(f"    ok, {took_s:.1f} s", style="green")

    def ended(self) -> None:
        """All steps have happened."""
        took_s = time.monotonic() - self._began_s
        self._console.print(f"Every step happened, in {took_s:.1f} s.", style="bold green")

    def broke_off(self, why: str, left: str) -> None:
        """The running step did not happen. `left`: what is left of the story."""
        self._console.print(f"FAILED at {self._step}: {why}", style="bold red")
        self._console.print(left)


def reason(error: BaseException) -> str:
    """An error in one line. Foreign texts may quote what they were given, so secrets are masked."""
    if isinstance(error, BaseExceptionGroup):
        return reason(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    if isinstance(error, TimeoutError) and not str(error):
        return "it took too long"
    text = " ".join(_SECRET.sub(MASK, str(error)).split())
    return text if isinstance(error, DidNotHappen) else f"{type(error).__name__}: {text}"
