"""The table agrees with itself; `tests/store_contract` shows that the stores agree with it."""

from __future__ import annotations

from switchboard.domain.todo import LIVE, TRANSITIONS, By, State, Step

_FINAL = {State.DONE, State.FAILED, State.CANCELLED}


def test_no_step_stands_twice() -> None:
    triples = [(t.step, t.source, t.target) for t in TRANSITIONS]
    assert len(triples) == len(set(triples))


def test_every_step_has_a_row_and_every_row_names_its_guard() -> None:
    assert {t.step for t in TRANSITIONS} == set(Step)
    assert all(t.guard and t.by for t in TRANSITIONS)


def test_live_and_final_states_are_all_states() -> None:
    assert set(LIVE) | _FINAL == set(State)
    assert not set(LIVE) & _FINAL


def test_agents_never_leave_a_final_state() -> None:
    leaving = [t for t in TRANSITIONS if t.source in _FINAL]
    assert [(t.step, t.by) for t in leaving] == [(Step.RETRY, (By.PERSON,))]


def test_a_todo_is_born_pending_and_only_create_bears_it() -> None:
    births = [t for t in TRANSITIONS if t.source is None]
    assert [(t.step, t.target) for t in births] == [(Step.CREATE, State.PENDING)]


def test_every_state_can_be_reached_and_every_live_state_can_end() -> None:
    reached = {t.target for t in TRANSITIONS}
    assert reached == set(State)
    for state in LIVE:
        assert {t.target for t in TRANSITIONS if t.source is state} & _FINAL


def test_only_a_holder_revives_and_only_the_service_sweeps() -> None:
    by = {t.step: set(t.by) for t in TRANSITIONS}
    assert by[Step.REVIVE] == {By.HOLDER}
    assert by[Step.LAPSE] == {By.SERVICE}
    assert by[Step.UNDO_CLAIM] == {By.SERVICE}
