"""The manifest and the tests agree in both directions."""

from __future__ import annotations

from collections import Counter

from tests.specification.entry import Requirement, Status
from tests.specification.references import references, references_in
from tests.specification.requirements import REQUIREMENTS

BY_ID = {entry.id: entry for entry in REQUIREMENTS}


def test_each_entry_has_an_id_of_its_own() -> None:
    repeated = [
        name for name, count in Counter(entry.id for entry in REQUIREMENTS).items() if count > 1
    ]
    assert not repeated


def test_each_promise_called_done_is_referred_to_by_a_test() -> None:
    proven = {reference.id for reference in references()}
    unproven = [
        entry.id for entry in REQUIREMENTS if entry.status is Status.DONE and entry.id not in proven
    ]
    assert not unproven, "done without a test:\n" + "\n".join(unproven)


def test_each_id_that_a_test_refers_to_exists() -> None:
    strangers = [
        f"{reference.place}: {reference.id}"
        for reference in references()
        if reference.id is not None and reference.id not in BY_ID
    ]
    assert not strangers, "\n".join(strangers)


def test_each_reference_is_a_literal_so_that_it_can_be_checked() -> None:
    assert not [reference.place for reference in references() if reference.id is None]


def test_no_test_claims_a_promise_that_is_deferred() -> None:
    early = [
        f"{reference.place}: {reference.id}"
        for reference in references()
        if (entry := BY_ID.get(reference.id or "")) and entry.status is Status.DEFERRED
    ]
    assert not early, "proven, so no longer deferred:\n" + "\n".join(early)


def test_each_promise_that_is_not_plainly_done_says_why() -> None:
    def silent(entry: Requirement) -> bool:
        return (entry.status is Status.DONE) != (not entry.reason.strip())

    assert not [entry.id for entry in REQUIREMENTS if silent(entry)]


def test_each_adapted_promise_says_what_stands_for_it_here() -> None:
    adapted = [entry for entry in REQUIREMENTS if entry.status is Status.ADAPTED]
    assert {entry.id for entry in adapted} == {
        "SPEC-0014/endpoint/official-sdk",
        "SPEC-0014/endpoint/hermetic-build",
        "SPEC-0014/concurrency/race-detection",
    }
    assert not [entry.id for entry in adapted if "; here " not in entry.reason]


def test_the_scan_sees_functions_classes_and_both_spellings() -> None:
    source = (
        "@requirement('a', 'b')\ndef test_one(): ...\n"
        "@pytest.mark.requirement('c')\nclass TestTwo: ...\n"
        "@requirement(name)\nasync def test_three(): ...\n"
        "@requirement('not a test')\ndef support(): ...\n"
        "@pytest.mark.slow\ndef test_four(): ...\n"
    )
    assert [reference.id for reference in references_in(source, "x.py")] == ["a", "b", "c", None]
