"""Ending with one's parent: who is told, when, and how it is called off."""

from __future__ import annotations

import os
import threading

import pytest

from agent_transport import parent as parent_module
from agent_transport.parent import EXIT_CODE, ParentWatch

BOUND_S = 10.0


class Family:
    """Who the parent is, and what became of this process."""

    def __init__(self) -> None:
        self.parent = 4711
        self.told = threading.Event()
        self.exited = threading.Event()
        self.codes: list[int] = []

    def exit(self, code: int) -> None:
        self.codes.append(code)
        self.exited.set()


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Family:
    family = Family()
    monkeypatch.setattr(os, "getppid", lambda: family.parent)
    monkeypatch.setattr(os, "_exit", family.exit)
    monkeypatch.setattr(parent_module, "LOOK_EVERY_S", 0.001)
    return family


def test_a_parent_that_dies_is_told_and_the_process_ends(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parent_module, "END_AFTER_S", 0.001)
    ParentWatch(family.told.set).start()
    assert not family.told.is_set()
    family.parent = 1
    assert family.told.wait(BOUND_S)
    assert family.exited.wait(BOUND_S)
    assert family.codes == [EXIT_CODE]


def test_a_watch_that_is_called_off_ends_nothing(family: Family) -> None:
    watch = ParentWatch(family.told.set)
    watch.start()
    watch.forget()
    watch.forget()
    family.parent = 1
    assert (family.told.is_set(), family.codes) == (False, [])


def test_the_end_can_be_called_off_after_the_parent_died(family: Family) -> None:
    watch = ParentWatch(family.told.set)
    watch.start()
    family.parent = 1
    assert family.told.wait(BOUND_S)
    watch.forget()
    assert family.codes == []


def test_a_process_that_lost_its_parent_before_is_not_watched(family: Family) -> None:
    family.parent = 1
    watch = ParentWatch(family.told.set)
    watch.start()
    family.parent = 2
    watch.forget()
    assert (family.told.is_set(), family.codes) == (False, [])
