"""The bounds of one carrier."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CarrierLimits:
    """Bounds of one carrier. Counts are per key (an endpoint, a session)."""

    body_bytes: int = 1024 * 1024
    late_stream_after_s: float = 10.0
    comment_every_s: float = 15.0
    send_timeout_s: float = 20.0
    stream_buffer: int = 16
    streams_per_key: int = 32
    calls_per_key: int = 64
