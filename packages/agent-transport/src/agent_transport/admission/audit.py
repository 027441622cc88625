"""The record of one refused token: closed sets only, never token text, never the address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_transport.admission.client_address import AddressClass
from agent_transport.admission.verifier import TokenFault


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Why, what kind of address, and whether the answer was the throttle's."""

    reason: TokenFault
    address_class: AddressClass
    throttled: bool


Audit = Callable[[AuditRecord], None]
"""Takes each record as it is made. It runs on the request's path, so it must not block."""
