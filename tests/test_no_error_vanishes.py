"""No handler in the sources drops an error in silence: it answers, logs, raises or says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.specification import requirement

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "packages").glob("*/src/**/*.py"))
_BROAD = {"Exception", "BaseException", "StoreError", "StoreUnavailable"}
"""What a handler of these catches was never thought of, or is a ledger that fails its people."""


def dropped(source: str) -> Iterator[int]:
    """The lines of the handlers that do nothing and do not say why.

    A handler of everything, or of whatever the ledger raises, must log, raise or pass it on.
    """
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            said = any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
            does_nothing = all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)
            if (does_nothing or (_is_broad(node.type) and not _tells(node))) and not said:
                yield node.lineno
        elif _suppresses_all(node) and "#" not in lines[node.lineno - 1]:
            yield node.lineno


def _suppresses_all(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("suppress")
        and any(_is_broad(kind) for kind in node.args)
    )


def _is_broad(kind: ast.expr | None) -> bool:
    return kind is None or any(
        isinstance(part, ast.Name) and part.id in _BROAD for part in ast.walk(kind)
    )


def _tells(handler: ast.ExceptHandler) -> bool:
    return any(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("_log", "log"))
        or (isinstance(node, ast.Name) and node.id == handler.name)
        for step in handler.body
        for node in ast.walk(step)
    )


@requirement("SPEC-0014/errors/none-swallowed")
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_handler_drops_an_error_without_a_word(path: Path) -> None:
    found = list(dropped(path.read_text("utf-8")))
    assert not found, f"{path.relative_to(ROOT)}: lines {found}"


@pytest.mark.parametrize(
    ("body", "is_dropped"),
    [
        ("except OSError:\n    pass", True),
        ("except OSError:\n    pass  # busy: the next round asks again", False),
        ("except OSError:\n    count = 0", False),
        ("except Exception:\n    count = 0", True),
        ("except Exception:\n    _log.exception('failed')", False),
        ("except Exception as raised:\n    raise ValueError from raised", False),
        ("except Exception as raised:\n    answer(raised)", False),
        ("except:\n    count = 0", True),
        ("except StoreError:\n    batch = before", True),
        ("except StoreError:\n    return of_code(UNAVAILABLE)", True),
        ("except StoreError:\n    _log.warning('unwritten', exc_info=True)", False),
        ("finally:\n    with suppress(Exception):\n        end()", True),
        ("finally:\n    with suppress(OSError):\n        end()", False),
    ],
)
def test_what_counts_as_dropped(body: str, is_dropped: bool) -> None:
    assert bool(list(dropped(f"try:\n    work()\n{body}\n"))) is is_dropped
