"""What the command leaves with. Scripts rely on these numbers."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The closed set of exit codes."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_AUTHORISED = 3
    NOT_FOUND = 4
    CONFLICT = 5
    UNREACHABLE = 6


_BY_STATUS = {
    400: ExitCode.USAGE,
    401: ExitCode.NOT_AUTHORISED,
    403: ExitCode.NOT_AUTHORISED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    413: ExitCode.USAGE,
    415: ExitCode.USAGE,
    422: ExitCode.USAGE,
    502: ExitCode.UNREACHABLE,
    503: ExitCode.UNREACHABLE,
    504: ExitCode.UNREACHABLE,
}


def of_status(status: int) -> ExitCode:
    """The exit code for an HTTP answer that was no success."""
    return _BY_STATUS.get(status, ExitCode.FAILED)
