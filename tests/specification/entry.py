"""One promise of a specification and where the project stands with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    DONE = "done"
    DEFERRED = "deferred"
    ADAPTED = "adapted"


@dataclass(frozen=True, slots=True)
class Requirement:
    """`source` names file and section; `reason` is empty only when `status` is done.

    An adapted promise names a tool of another language; its reason says what stands for it here.
    """

    id: str
    source: str
    behaviour: str
    status: Status = Status.DONE
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Builds the entries of one section, so that an entry reads as name and behaviour."""

    prefix: str
    source: str

    def done(self, name: str, behaviour: str) -> Requirement:
        return Requirement(f"{self.prefix}/{name}", self.source, behaviour)

    def deferred(self, name: str, behaviour: str, reason: str) -> Requirement:
        return Requirement(f"{self.prefix}/{name}", self.source, behaviour, Status.DEFERRED, reason)

    def adapted(self, name: str, behaviour: str, reason: str) -> Requirement:
        return Requirement(f"{self.prefix}/{name}", self.source, behaviour, Status.ADAPTED, reason)
