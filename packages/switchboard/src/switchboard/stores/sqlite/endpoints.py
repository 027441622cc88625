"""Endpoints, their credentials and sessions: vend, look up, end."""

from __future__ import annotations

import json
from sqlite3 import Row

from switchboard.domain.actor import EXPIRER, Actor
from switchboard.domain.endpoint import Endpoint, EndpointId, EndpointState, Protocol
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import Outcome, State, Step, Todo
from switchboard.domain.workspace import WorkspaceId
from switchboard.records import (
    Ended,
    EndedCredential,
    NewCredential,
    NewEndpoint,
    Replaced,
    Rotated,
    Session,
)
from switchboard.stores.rows import endpoint_of, todo_of
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.history import end_attempt, write_event


def vend_endpoint(
    tx: Transaction, workspace_id: WorkspaceId, new: NewEndpoint, actor: Actor
) -> Endpoint:
    """See `Endpoints.vend_endpoint`."""
    for queue in new.queues:
        tx.run("insert_queue", workspace_id=workspace_id, name=queue)
    tx.run(
        "insert_endpoint",
        id=new.id,
        workspace_id=workspace_id,
        slug=new.slug,
        agent=new.agent,
        queues=json.dumps(new.queues),
        verbs=json.dumps(new.verbs),
        protocol=new.protocol,
        lease_ms=new.lease_ms,
        lifetime_ms=new.lifetime_ms,
    )
    first = NewCredential(new.credential_id, new.credential_hash, new.credential_prefix)
    _insert_credential(tx, new.id, first)
    return _endpoint(tx, new.id)


def endpoint_by_slug(tx: Transaction, workspace_id: WorkspaceId, slug: str) -> Endpoint | None:
    """See `Endpoints.endpoint`."""
    row = tx.one("endpoint_by_slug", workspace_id=workspace_id, slug=slug)
    return None if row is None else endpoint_of(row)


def set_endpoint_if_active(
    tx: Transaction,
    workspace_id: WorkspaceId,
    slug: str,
    protocol: Protocol | None,
    lease_ms: int | None,
) -> Endpoint | Refusal:
    """See `Endpoints.set_endpoint_if_active`."""
    row = tx.one(
        "set_endpoint_if_active",
        workspace_id=workspace_id,
        slug=slug,
        protocol=protocol,
        lease_ms=lease_ms,
    )
    if row is not None:
        return _endpoint(tx, row["id"])
    return _not_active(tx, workspace_id, slug)


def revoke_endpoint_if_active(
    tx: Transaction, workspace_id: WorkspaceId, slug: str, actor: Actor
) -> Ended | Refusal:
    """See `Endpoints.revoke_endpoint_if_active`."""
    found = endpoint_by_slug(tx, workspace_id, slug)
    ended = None if found is None else _End(tx, found.id, actor).run(EndpointState.REVOKED)
    return ended or _not_active(tx, workspace_id, slug)


def expire_endpoints(tx: Transaction, limit: int) -> list[Ended]:
    """See `Endpoints.expire_endpoints`."""
    rows = tx.all("expired_endpoints", limit=limit)
    ends = [_End(tx, EndpointId(row["id"]), EXPIRER).run(EndpointState.EXPIRED) for row in rows]
    return [ended for ended in ends if ended is not None]


def replace_endpoint_if_active(
    tx: Transaction, workspace_id: WorkspaceId, slug: str, new: NewEndpoint, actor: Actor
) -> Replaced | Refusal:
    """See `Endpoints.replace_endpoint_if_active`."""
    row = tx.one("active_endpoint_by_slug", workspace_id=workspace_id, slug=slug)
    if row is None:
        return _not_active(tx, workspace_id, slug)
    vended = vend_endpoint(tx, workspace_id, new, actor)
    end = _End(tx, EndpointId(row["id"]), actor)
    ended = end.run(EndpointState.REVOKED, heir=vended)
    assert ended is not None, "it was active within this transaction"
    return Replaced(vended, ended, tuple(end.moved))


def rotate_credential_if_active(
    tx: Transaction, workspace_id: WorkspaceId, slug: str, new: NewCredential, overlap_ms: int
) -> Rotated | Refusal:
    """See `Endpoints.rotate_credential_if_active`."""
    row = tx.one("active_endpoint_by_slug", workspace_id=workspace_id, slug=slug)
    if row is None:
        return _not_active(tx, workspace_id, slug)
    endpoint_id = EndpointId(row["id"])
    current, *older = [_credential(row) for row in _live_credentials(tx, endpoint_id)]
    if overlap_ms > 0:
        tx.run("limit_credential", id=current.id, overlap_ms=overlap_ms)
    ended = older if overlap_ms > 0 else [current, *older]
    for credential in ended:
        tx.run("end_credential", id=credential.id)
    _insert_credential(tx, endpoint_id, new)
    return Rotated(_endpoint(tx, endpoint_id), tuple(ended))


def expire_credentials(tx: Transaction, limit: int) -> list[EndedCredential]:
    """See `Endpoints.expire_credentials`."""
    ended = [_credential(row) for row in tx.all("expired_credentials", limit=limit)]
    for credential in ended:
        tx.run("end_credential", id=credential.id)
    return ended


def open_session(tx: Transaction, session: Session, keep: int) -> list[str]:
    """See `Endpoints.open_session`."""
    tx.one(
        "insert_session",
        id=session.id,
        endpoint_id=session.endpoint_id,
        protocol_version=session.protocol_version,
        client_info_json=session.client_info_json,
        client_capabilities_json=session.client_capabilities_json,
    )
    surplus = tx.all("surplus_sessions", endpoint_id=session.endpoint_id, keep=keep)
    for row in surplus:
        tx.one("delete_session", session_id=row["id"], endpoint_id=session.endpoint_id)
    return [row["id"] for row in surplus]


class _End:
    """The end of one endpoint within one transaction: everything that it held, or nothing."""

    def __init__(self, tx: Transaction, endpoint_id: EndpointId, actor: Actor) -> None:
        self._tx = tx
        self._id = endpoint_id
        self._actor = actor
        self.moved: list[Todo] = []

    def run(self, state: EndpointState, heir: Endpoint | None = None) -> Ended | None:
        """None: it had ended before. `heir` gets what was assigned, as far as its queues go."""
        tx, endpoint_id = self._tx, self._id
        if tx.one("end_endpoint_if_active", endpoint_id=endpoint_id, state=state) is None:
            return None
        tx.run("end_credentials", endpoint_id=endpoint_id)
        sessions = tx.all("delete_sessions_of_endpoint", endpoint_id=endpoint_id)
        released = self._release()
        ended = _endpoint(tx, endpoint_id)
        tx.run("forget_swept_of_endpoint", workspace_id=ended.workspace_id, endpoint_id=endpoint_id)
        if heir is not None:
            self._move_to(heir)
        failed = self._fail_assigned()
        tx.run("unassign_from_endpoint", endpoint_id=endpoint_id)
        elsewhere = {todo.id for todo in (*failed, *self.moved)}
        free = tuple(todo for todo in released if todo.id not in elsewhere)
        return Ended(ended, free, tuple(failed), len(sessions))

    def _release(self) -> list[Todo]:
        rows = self._tx.all("release_of_endpoint", endpoint_id=self._id)
        released = [todo_of(row) for row in rows]
        for todo in released:
            end_attempt(self._tx, todo, Outcome.REVOKED)
            write_event(self._tx, todo, Step.REVOKE, self._actor, State.CLAIMED)
        return released

    def _move_to(self, heir: Endpoint) -> None:
        queues = json.dumps(heir.queues)
        rows = self._tx.all("move_assignments", from_id=self._id, to_id=heir.id, queues=queues)
        self.moved = [todo_of(row) for row in rows]
        for todo in self.moved:
            write_event(self._tx, todo, Step.EDIT, self._actor, State.PENDING, "assignee")

    def _fail_assigned(self) -> list[Todo]:
        rows = self._tx.all("fail_assigned_to_endpoint", endpoint_id=self._id)
        failed = [todo_of(row) for row in rows]
        for todo in failed:
            detail = "endpoint_revoked"
            write_event(self._tx, todo, Step.REVOKE, self._actor, State.PENDING, detail)
        return failed


def _insert_credential(tx: Transaction, endpoint_id: EndpointId, new: NewCredential) -> None:
    tx.run(
        "insert_credential", id=new.id, endpoint_id=endpoint_id, hash=new.hash, prefix=new.prefix
    )


def _live_credentials(tx: Transaction, endpoint_id: EndpointId) -> list[Row]:
    return tx.all("live_credentials", endpoint_id=endpoint_id)


def _credential(row: Row) -> EndedCredential:
    return EndedCredential(
        row["id"], EndpointId(row["endpoint_id"]), WorkspaceId(row["workspace_id"])
    )


def _endpoint(tx: Transaction, endpoint_id: EndpointId) -> Endpoint:
    row = tx.one("endpoint_by_id", endpoint_id=endpoint_id)
    assert row is not None
    return endpoint_of(row)


def _not_active(tx: Transaction, workspace_id: WorkspaceId, slug: str) -> Refusal:
    found = endpoint_by_slug(tx, workspace_id, slug)
    return Refusal(Code.NOT_FOUND if found is None else Code.CONFLICT)
