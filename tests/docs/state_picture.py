"""Draws the state picture of ARCHITECTURE.md from the transition table."""

from __future__ import annotations

from switchboard.domain.todo import TRANSITIONS, State


def picture() -> str:
    """The mermaid block. Steps between the same two states share one arrow."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for transition in TRANSITIONS:
        pair = (transition.source or "[*]", transition.target)
        names = arrows.setdefault((str(pair[0]), str(pair[1])), [])
        if transition.step not in names:
            names.append(str(transition.step))
    left = {transition.source for transition in TRANSITIONS}
    lines = [
        f"    {source} --> {target}: {', '.join(steps)}"
        for (source, target), steps in arrows.items()
    ]
    lines += [f"    {state} --> [*]" for state in State if state not in left]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])
