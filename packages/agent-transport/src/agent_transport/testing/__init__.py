"""For tests of whoever uses this package: fakes that check how they are used, and a lifecycle kit.

No test runner is needed and none is imported.
"""

from agent_transport.testing.fake_clock import FakeClock
from agent_transport.testing.fake_session import FakeSession, FakeTurn
from agent_transport.testing.fake_verifier import FakeVerifier
from agent_transport.testing.lifecycle_kit import LIFECYCLE_CHECKS, Check, UnderTest
from agent_transport.testing.manual_cancel import ManualCancel

__all__ = [
    "LIFECYCLE_CHECKS",
    "Check",
    "FakeClock",
    "FakeSession",
    "FakeTurn",
    "FakeVerifier",
    "ManualCancel",
    "UnderTest",
]
