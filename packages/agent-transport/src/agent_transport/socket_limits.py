"""What a stranger on the socket may cost, as one value."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from agent_transport.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """Bounds per connection, and on how many there are.

    header_bytes:   request line, headers and trailers of one request; beyond it 431
    header_s:       from the opening of the connection, or from the first byte of a later request,
                    to the end of the headers
    body_s:         from the end of the headers to the end of the body; beyond it 408
    idle_s:         a kept connection without a request; longer than proxies keep theirs (60 s),
                    or they send into a connection that is just being closed
    connections:    open at once; beyond it 503
    linger_s, linger_bytes: how long, and how much of it, an unread body is still taken off the
                    wire after a refusal. Closing on unread bytes resets the connection, and the
                    client may lose the answer; reading on for ever is what the refusal avoids
    user_timeout_s: how long sent bytes may stay unacknowledged (Linux): a vanished peer or one
                    that reads nothing is gone after it
    stall_s:        how long a client may leave unread what was written, once that is more than a
                    socket's buffer; it is cut off then, whatever it was sent
    pipelined:      requests waiting behind one that is being answered
    """

    header_bytes: int = 16 * 1024
    header_s: float = 10.0
    body_s: float = 30.0
    idle_s: float = 75.0
    connections: int = 4096
    linger_s: float = 2.0
    linger_bytes: int = 256 * 1024
    user_timeout_s: float = 30.0
    stall_s: float = 20.0
    pipelined: int = 16

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 < getattr(self, field.name) < math.inf:
                raise ConfigurationError(field.name, "must be a positive number")
