"""Rates and counted failures, on a clock that the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.admission import Buckets, FailureWindow, Rate, retry_after


def test_burst_passes_at_once_and_the_next_waits_for_one_token() -> None:
    buckets = Buckets(Rate(per_second=20, burst=40))
    assert [buckets.take("a", 100.0) for _ in range(40)] == [0.0] * 40
    assert buckets.take("a", 100.0) == pytest.approx(0.05)


def test_waiting_as_told_is_enough() -> None:
    buckets = Buckets(Rate(per_second=20, burst=2))
    now_s = 5.0
    for _ in range(2):
        buckets.take("a", now_s)
    wait_s = buckets.take("a", now_s)
    assert wait_s > 0
    assert buckets.take("a", now_s + wait_s) == 0.0


def test_refused_take_costs_nothing() -> None:
    buckets = Buckets(Rate(per_second=1, burst=1))
    buckets.take("a", 0.0)
    waits = {buckets.take("a", 0.0) for _ in range(50)}
    assert waits == {1.0}


def test_keys_do_not_share_a_bucket() -> None:
    buckets = Buckets(Rate(per_second=1, burst=1))
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("a", 0.0) > 0
    assert buckets.take("b", 0.0) == 0.0


@given(
    st.lists(st.floats(0, 0.5), min_size=1, max_size=200),
    st.floats(0.5, 100),
    st.integers(1, 20),
)
def test_no_pattern_of_requests_gets_more_than_burst_and_rate(
    pauses: list[float], per_second: float, burst: int
) -> None:
    buckets = Buckets(Rate(per_second, burst))
    now_s, passed = 0.0, 0
    for pause in pauses:
        now_s += pause
        passed += buckets.take("a", now_s) == 0.0
    assert passed <= burst + now_s * per_second + 1e-3


@given(st.floats(0.1, 1000), st.integers(1, 50))
def test_steady_pace_within_the_rate_is_never_refused(per_second: float, burst: int) -> None:
    buckets = Buckets(Rate(per_second, burst))
    assert all(buckets.take("a", n / per_second) == 0.0 for n in range(100))


def test_only_the_most_recently_used_keys_are_remembered() -> None:
    buckets = Buckets(Rate(per_second=1, burst=1), remembered=3)
    for key in "abc":
        buckets.take(key, 0.0)
    buckets.take("d", 0.0)
    assert buckets.take("a", 0.0) == 0.0
    assert buckets.take("d", 0.0) > 0


@pytest.mark.parametrize(("per_second", "burst"), [(0, 1), (-1, 1), (float("inf"), 1), (1, 0)])
def test_rate_that_lets_nothing_or_everything_through_is_refused(
    per_second: float, burst: int
) -> None:
    with pytest.raises(ValueError, match="positive"):
        Rate(per_second, burst)


def test_twenty_failures_in_a_minute_are_heard_and_the_next_waits() -> None:
    window = FailureWindow()
    assert [window.count("a", float(n)) for n in range(20)] == [0.0] * 20
    assert window.count("a", 30.0) == 30.0


def test_failures_that_were_not_heard_do_not_lengthen_the_wait() -> None:
    window = FailureWindow()
    for _ in range(20):
        window.count("a", 0.0)
    for n in range(500):
        assert window.count("a", n / 10) == pytest.approx(60 - n / 10)
    assert window.count("a", 60.0) == 0.0


def test_window_slides_with_each_failure() -> None:
    window = FailureWindow(limit=2, window_s=10)
    assert [window.count("a", t) for t in (0.0, 6.0)] == [0.0, 0.0]
    assert window.count("a", 9.0) == 1.0
    assert window.count("a", 10.0) == 0.0
    assert window.count("a", 11.0) == 5.0


def test_one_address_does_not_silence_another() -> None:
    window = FailureWindow(limit=1)
    window.count("a", 0.0)
    assert window.count("a", 0.0) > 0
    assert window.count("b", 0.0) == 0.0


def test_at_most_4096_addresses_are_remembered() -> None:
    window = FailureWindow(limit=1)
    for n in range(4096):
        window.count(str(n), 0.0)
    assert window.count("0", 1.0) > 0  # remembered, and used again just now
    window.count("new", 1.0)
    assert window.count("1", 1.0) == 0.0  # the longest unused one was forgotten
    assert window.count("0", 1.0) > 0
    assert len(window._failures) == 4096  # pyright: ignore[reportPrivateUsage]


@given(st.floats(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_retry_after_is_whole_seconds_and_never_too_early(wait_s: float, drawn: float) -> None:
    name, value = retry_after(wait_s, lambda: drawn)
    assert name == b"retry-after"
    assert max(1, wait_s) <= int(value) <= wait_s * 1.25 + 4


def test_retry_after_is_spread_even_for_a_short_wait() -> None:
    told = {retry_after(0.05, lambda drawn=n / 100: drawn)[1] for n in range(100)}
    assert len(told) >= 3
