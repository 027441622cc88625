"""Vending, changing and ending endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from switchboard.clock import Clock
from switchboard.domain.actor import Actor
from switchboard.domain.credential import (
    RandomBytes,
    display_prefix,
    hash_secret,
    mint_credential,
    mint_slug,
)
from switchboard.domain.endpoint import (
    AGENT_NAME,
    CORE_VERBS,
    DEFAULT_LEASE_MS,
    MAX_LEASE_MS,
    MIN_LEASE_MS,
    Endpoint,
    EndpointId,
    Protocol,
    Verb,
)
from switchboard.domain.identifier import mint_identifier
from switchboard.domain.queue import is_queue_name
from switchboard.domain.refusal import Refusal
from switchboard.domain.workspace import WorkspaceId
from switchboard.notifier import CredentialEnded, EndpointEnded, EndWhy, Notifier, TodoReady
from switchboard.records import (
    Ended,
    EndedCredential,
    NewCredential,
    NewEndpoint,
    Replaced,
    Rotated,
)
from switchboard.service.validation import invalid
from switchboard.store import Endpoints

MIN_LIFETIME_MS = 1_000
MAX_LIFETIME_MS = 3_660 * 86_400_000
MAX_OVERLAP_MS = 30 * 86_400_000
"""An old credential that lives on for longer is no rotation, but a second key."""


@dataclass(frozen=True, slots=True)
class EndpointDraft:
    """An endpoint as it is asked for; nothing in it has been checked."""

    agent: str
    queues: tuple[str, ...]
    verbs: tuple[Verb, ...] = CORE_VERBS
    protocol: Protocol = Protocol.AUTO
    lease_ms: int = DEFAULT_LEASE_MS
    lifetime_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Vended:
    """A new endpoint and its credential, which is shown once and never again.

    `replaced`: what became of the endpoint in whose place it stands.
    """

    endpoint: Endpoint
    credential: str = field(repr=False)
    replaced: Replaced | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A rotated endpoint and its new credential, which is shown once and never again."""

    rotated: Rotated
    credential: str = field(repr=False)


class EndpointDesk:
    """The verbs of people for endpoints. One object per process."""

    def __init__(
        self, store: Endpoints, notifier: Notifier, clock: Clock, random_bytes: RandomBytes
    ) -> None:
        self._store = store
        self._notifier = notifier
        self._clock = clock
        self._random_bytes = random_bytes

    async def vend(
        self,
        workspace_id: WorkspaceId,
        draft: EndpointDraft,
        actor: Actor,
        *,
        replaces: str | None = None,
    ) -> Vended | Refusal:
        """Mint an endpoint with its first credential.

        With `replaces`, a slug, that endpoint is revoked and its assignments move.
        """
        fault = _field_at_fault(draft)
        if fault is not None:
            return invalid(fault)
        credential = mint_credential(self._random_bytes)
        new = self._new(draft, credential)
        if replaces is None:
            return Vended(await self._store.vend_endpoint(workspace_id, new, actor), credential)
        answer = await self._store.replace_endpoint_if_active(workspace_id, replaces, new, actor)
        if isinstance(answer, Refusal):
            return answer
        publish_ended(self._notifier, answer.ended, EndWhy.REVOKED)
        for todo in answer.moved:
            self._notifier.publish(TodoReady(todo))
        return Vended(answer.endpoint, credential, answer)

    async def rotate(
        self, workspace_id: WorkspaceId, slug: str, overlap_ms: int = 0
    ) -> NewKey | Refusal:
        """Mint another credential for an endpoint; the one so far lives on for `overlap_ms`."""
        if not 0 <= overlap_ms <= MAX_OVERLAP_MS:
            return invalid("overlap_seconds")
        credential = mint_credential(self._random_bytes)
        new = NewCredential(
            mint_identifier("cr", self._clock.now_ms(), self._random_bytes),
            hash_secret(credential),
            display_prefix(credential),
        )
        rotated = await self._store.rotate_credential_if_active(workspace_id, slug, new, overlap_ms)
        if isinstance(rotated, Refusal):
            return rotated
        publish_credentials_ended(self._notifier, rotated.ended, EndWhy.REVOKED)
        return NewKey(rotated, credential)

    def _new(self, draft: EndpointDraft, credential: str) -> NewEndpoint:
        now_ms = self._clock.now_ms()
        return NewEndpoint(
            id=EndpointId(mint_identifier("ep", now_ms, self._random_bytes)),
            slug=mint_slug(draft.agent, self._random_bytes),
            agent=draft.agent,
            queues=tuple(dict.fromkeys(draft.queues)),
            verbs=tuple(verb for verb in Verb if verb in draft.verbs),
            protocol=draft.protocol,
            lease_ms=draft.lease_ms,
            lifetime_ms=draft.lifetime_ms,
            credential_id=mint_identifier("cr", now_ms, self._random_bytes),
            credential_hash=hash_secret(credential),
            credential_prefix=display_prefix(credential),
        )

    async def list_all(self, workspace_id: WorkspaceId) -> Sequence[Endpoint]:
        """All endpoints, newest first."""
        return await self._store.endpoints(workspace_id)

    async def show(self, workspace_id: WorkspaceId, slug: str) -> Endpoint | None:
        """One endpoint."""
        return await self._store.endpoint(workspace_id, slug)

    async def set(
        self,
        workspace_id: WorkspaceId,
        slug: str,
        actor: Actor,
        *,
        protocol: Protocol | None = None,
        lease_ms: int | None = None,
    ) -> Endpoint | Refusal:
        """Change what may change after a vend."""
        if lease_ms is not None and not MIN_LEASE_MS <= lease_ms <= MAX_LEASE_MS:
            return invalid("lease_seconds")
        return await self._store.set_endpoint_if_active(
            workspace_id, slug, actor, protocol=protocol, lease_ms=lease_ms
        )

    async def revoke(self, workspace_id: WorkspaceId, slug: str, actor: Actor) -> Ended | Refusal:
        """End an endpoint; its streams and waiting claims are told after the commit."""
        ended = await self._store.revoke_endpoint_if_active(workspace_id, slug, actor)
        if isinstance(ended, Ended):
            publish_ended(self._notifier, ended, EndWhy.REVOKED)
        return ended


def publish_ended(notifier: Notifier, ended: Ended, why: EndWhy) -> None:
    """Tell that an endpoint is over, then that its todos wait for somebody else."""
    endpoint = ended.endpoint
    notifier.publish(EndpointEnded(endpoint.workspace_id, endpoint.id, why))
    for todo in ended.released:
        notifier.publish(TodoReady(todo))


def publish_credentials_ended(
    notifier: Notifier, ended: Sequence[EndedCredential], why: EndWhy
) -> None:
    """Tell that credentials are over whose endpoints go on."""
    for one in ended:
        notifier.publish(CredentialEnded(one.workspace_id, one.endpoint_id, one.id, why))


def _field_at_fault(draft: EndpointDraft) -> str | None:
    lifetime_ms = draft.lifetime_ms
    checks = (
        ("agent", AGENT_NAME.fullmatch(draft.agent) is not None),
        ("queues", bool(draft.queues) and all(is_queue_name(name) for name in draft.queues)),
        ("verbs", bool(draft.verbs)),
        ("lease_seconds", MIN_LEASE_MS <= draft.lease_ms <= MAX_LEASE_MS),
        ("expires_in", lifetime_ms is None or MIN_LIFETIME_MS <= lifetime_ms <= MAX_LIFETIME_MS),
    )
    return next((field for field, holds in checks if not holds), None)
