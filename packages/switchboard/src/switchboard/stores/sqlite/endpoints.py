"""Endpoints, their credentials and sessions: vend, look up, end."""

from __future__ import annotations

import json
from collections.abc import Sequence

from switchboard.domain.actor import EXPIRER, Actor
from switchboard.domain.endpoint import Endpoint, EndpointId, EndpointState, Protocol
from switchboard.domain.refusal import Code, Refusal
from switchboard.domain.todo import Outcome, State, Step, Todo
from switchboard.domain.workspace import WorkspaceId
from switchboard.records import Ended, NewEndpoint, Session
from switchboard.stores.sqlite.connection import Transaction
from switchboard.stores.sqlite.history import end_attempt, write_event
from switchboard.stores.sqlite.rows import endpoint_of, todo_of


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
    tx.run(
        "insert_credential",
        id=new.credential_id,
        endpoint_id=new.id,
        hash=new.credential_hash,
        prefix=new.credential_prefix,
    )
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
    ended = None if found is None else _end(tx, found.id, EndpointState.REVOKED, actor)
    return ended or _not_active(tx, workspace_id, slug)


def expire_endpoints(tx: Transaction, limit: int) -> list[Ended]:
    """See `Endpoints.expire_endpoints`."""
    rows = tx.all("expired_endpoints", limit=limit)
    ends = [_end(tx, EndpointId(row["id"]), EndpointState.EXPIRED, EXPIRER) for row in rows]
    return [ended for ended in ends if ended is not None]


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


def _end(
    tx: Transaction, endpoint_id: EndpointId, state: EndpointState, actor: Actor
) -> Ended | None:
    if tx.one("end_endpoint_if_active", endpoint_id=endpoint_id, state=state) is None:
        return None
    tx.run("end_credentials", endpoint_id=endpoint_id)
    sessions = tx.all("delete_sessions_of_endpoint", endpoint_id=endpoint_id)
    released = [todo_of(row) for row in tx.all("release_of_endpoint", endpoint_id=endpoint_id)]
    for todo in released:
        end_attempt(tx, todo, Outcome.REVOKED)
        write_event(tx, todo, Step.REVOKE, actor, State.CLAIMED)
    ended = _endpoint(tx, endpoint_id)
    tx.run("forget_swept_of_endpoint", workspace_id=ended.workspace_id, endpoint_id=endpoint_id)
    failed = _fail_assigned(tx, endpoint_id, actor)
    gone = {todo.id for todo in failed}
    return Ended(
        ended,
        tuple(todo for todo in released if todo.id not in gone),
        tuple(failed),
        len(sessions),
    )


def _fail_assigned(tx: Transaction, endpoint_id: EndpointId, actor: Actor) -> Sequence[Todo]:
    failed = [todo_of(row) for row in tx.all("fail_assigned_to_endpoint", endpoint_id=endpoint_id)]
    for todo in failed:
        write_event(tx, todo, Step.REVOKE, actor, State.PENDING, "endpoint_revoked")
    return failed


def _endpoint(tx: Transaction, endpoint_id: EndpointId) -> Endpoint:
    row = tx.one("endpoint_by_id", endpoint_id=endpoint_id)
    assert row is not None
    return endpoint_of(row)


def _not_active(tx: Transaction, workspace_id: WorkspaceId, slug: str) -> Refusal:
    found = endpoint_by_slug(tx, workspace_id, slug)
    return Refusal(Code.NOT_FOUND if found is None else Code.CONFLICT)
