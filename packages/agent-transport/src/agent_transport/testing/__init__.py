"""For tests of whoever uses this package: fakes that check how they are used, and kits of checks.

No test runner is needed and none is imported.
"""

from agent_transport.testing.fake_clock import FakeClock
from agent_transport.testing.fake_session import FakeSession, FakeTurn
from agent_transport.testing.fake_verifier import FakeVerifier
from agent_transport.testing.lifecycle_kit import LIFECYCLE_CHECKS, Check, UnderTest
from agent_transport.testing.manual_cancel import ManualCancel
from agent_transport.testing.session_kit import SESSION_CHECKS, SessionCheck, SessionUnderTest

__all__ = [
    "LIFECYCLE_CHECKS",
    "SESSION_CHECKS",
    "Check",
    "FakeClock",
    "FakeSession",
    "FakeTurn",
    "FakeVerifier",
    "ManualCancel",
    "SessionCheck",
    "SessionUnderTest",
    "UnderTest",
]
