"""What a doorbell says. Pure text: whether a todo may ring is `domain.todo.may_ring`.

A doorbell is shown to a model between tags, so text from outside must not be able to close the
tag, open another one, or start a line of its own.
"""

from __future__ import annotations

import re
import unicodedata

from switchboard.domain.todo import Todo

METHOD = "notifications/claude/channel"
MAX_CONTENT_CHARS = 300

_OPENING = (
    "<\u2039\u3008\u2329\u27e8\u276e\u2770\u02c2\u227a\u169a\u16b2\u1438\u29fc\u226e\U0001d236"
)
_CLOSING = ">\u203a\u3009\u232a\u27e9\u276f\u2771\u02c3\u227b\u169b\u1433\u29fd\u226f\U0001d237"
"""What a reader takes for an angle bracket: Unicode's confusables of the two, and their kin."""
_BRACKETS = str.maketrans(dict.fromkeys(_OPENING, "(") | dict.fromkeys(_CLOSING, ")"))
_ENTITY = re.compile(r"&(?:(lt|#0*60|#x0*3c)|gt|#0*62|#x0*3e);?", re.IGNORECASE)
"""A client may unescape what it shows."""
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Control, format (bidi controls, zero width), surrogate, line and paragraph separators."""


def neutralise(text: str) -> str:
    """`text` on one line, without angle brackets of any make and without invisible characters.

    Every bracket goes, not only those before a tag's name: a name can be spaced out, spelt with
    letters of other scripts, or in any case; without its bracket none of these is a tag.
    """
    text = _ENTITY.sub(lambda found: "(" if found[1] else ")", text)
    folded = "".join(_folded(char) for char in text)
    shown = "".join(" " if unicodedata.category(char) in _INVISIBLE else char for char in folded)
    return " ".join(shown.translate(_BRACKETS).split())


def _folded(char: str) -> str:
    """Full-width and small forms of a bracket are that bracket."""
    plain = unicodedata.normalize("NFKC", char)
    return plain if plain in ("<", ">") else char


def doorbell_content(todo: Todo, *, more: int = 0) -> str:
    """The line a model reads. `more`: ready todos that a storm kept from ringing."""
    tail = f". To take it, call claim with id {todo.id}"
    if more:
        tail += f" (+{more} more waiting)"
    head = f"Todo in {neutralise(todo.queue)}: "
    room = MAX_CONTENT_CHARS - len(head) - len(tail)
    title = neutralise(todo.title)
    if len(title) > room:
        title = title[: room - 1].rstrip() + "…"
    return f"{head}{title}{tail}"


def doorbell_meta(todo: Todo) -> dict[str, str]:
    """Attributes for the client: never a lease, a payload or a secret."""
    meta = {"todo_id": todo.id, "queue": neutralise(todo.queue)}
    if todo.kind:
        meta["kind"] = neutralise(todo.kind)
    if todo.source:
        meta["source"] = neutralise(todo.source)
    if todo.priority:
        meta["priority"] = str(todo.priority)
    return meta


def doorbell_params(todo: Todo, *, more: int = 0) -> dict[str, object]:
    """The notification's parameters."""
    return {"content": doorbell_content(todo, more=more), "meta": doorbell_meta(todo)}
