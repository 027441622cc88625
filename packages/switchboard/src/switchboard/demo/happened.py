"""The demo claims nothing that it did not see."""

from __future__ import annotations

from switchboard.errors import SwitchboardError


class DidNotHappen(SwitchboardError):
    """Something that the story tells of was not seen; the message says what."""


def happened(seen: bool, what: str) -> None:
    """Go on only if `seen`.

    Raises:
        DidNotHappen: with `what` should have been.
    """
    if not seen:
        raise DidNotHappen(f"it did not happen that {what}")
