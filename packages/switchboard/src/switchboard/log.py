"""How the service writes its log: one event name and key-values a line, never a secret.

Keys that mean the same everywhere: `event`, `slug`, `tool`, `todo_id`, `session`, `reason`,
`request_id`. Library code logs through the standard library; its records come out here too, and
all that is logged while a request is served carries what is known of it.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from switchboard.request_scope import request_at_hand

_SECRETS = re.compile(r"(sb[ko]_)[A-Za-z0-9_-]{5,}|(lt_)[A-Za-z2-7]{20,}")
"""The four characters of a display prefix stay readable; one more and it is masked."""


def mask_secrets(text: str) -> str:
    """Replace whatever is shaped like a credential, an operator token or a lease token."""
    return _SECRETS.sub(lambda found: (found[1] or found[2]) + "***", text)


def configure_logging(level: str, style: str, stream: TextIO | None = None) -> None:
    """Send every record of this process to `stream` (standard error). Safe to call again.

    `style` is `json`, `console`, or `auto`: JSON unless the stream is a terminal.
    """
    target = stream or sys.stderr
    as_json = style == "json" or (style == "auto" and not target.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _add_request,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(default=str)
        if as_json
        else structlog.dev.ConsoleRenderer(colors=target.isatty())
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _Masked(renderer)],
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Their INFO lines repeat requests and start-up; what matters there is logged by us.
    for noisy in ("httpx", "httpcore", "asyncio", "uvicorn", "mcp"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _add_request(logger: WrappedLogger, name: str, event_dict: EventDict) -> EventDict:
    request = request_at_hand()
    if request is not None:
        for key, value in request.facts.items():
            event_dict.setdefault(key, value)
    return event_dict


class _Masked:
    """Masks the finished line: no key, nesting or traceback can slip past it."""

    def __init__(self, renderer: Processor) -> None:
        self._renderer = renderer

    def __call__(self, logger: WrappedLogger, name: str, event_dict: EventDict) -> str:
        rendered = self._renderer(logger, name, event_dict)
        return mask_secrets(str(rendered))
