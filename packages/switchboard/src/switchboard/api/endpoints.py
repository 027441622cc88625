"""`/endpoints`."""

from __future__ import annotations

from fastapi import APIRouter

from switchboard.api.answers import (
    EndpointList,
    OneEndpoint,
    ReplacedEndpoint,
    RevealedEndpoint,
    RevokedEndpoint,
    VendedEndpoint,
)
from switchboard.api.bodies import EndpointChange, NewEndpointBody, Rotation
from switchboard.api.problem import Refused, of_field
from switchboard.api.reach import Reached, found, taken
from switchboard.api.strict_json import StrictRoute
from switchboard.records import Replaced
from switchboard.wiring import mcp_json

router = APIRouter(prefix="/endpoints", tags=["endpoints"], route_class=StrictRoute)


@router.post("", status_code=201)
async def vend(body: NewEndpointBody, reach: Reached) -> VendedEndpoint:
    """Vend an endpoint. Its credential is in this answer and nowhere else."""
    desk, draft = reach.services.desk, body.draft()
    vended = taken(await desk.vend(reach.workspace_id, draft, reach.actor, replaces=body.replaces))
    url = reach.services.url_of(vended.endpoint.slug)
    return VendedEndpoint(
        endpoint=reach.shown(vended.endpoint),
        url=url,
        credential=vended.credential,
        mcp_json=mcp_json(url, vended.credential),
        replaced=None if vended.replaced is None else _replaced(vended.replaced),
    )


@router.get("")
async def list_endpoints(reach: Reached) -> EndpointList:
    """List the endpoints, newest first."""
    endpoints = await reach.services.desk.list_all(reach.workspace_id)
    return EndpointList(endpoints=[reach.shown(endpoint) for endpoint in endpoints])


@router.get("/{slug}")
async def show(slug: str, reach: Reached) -> OneEndpoint:
    """Show one endpoint."""
    endpoint = found(await reach.services.desk.show(reach.workspace_id, slug))
    return OneEndpoint(endpoint=reach.shown(endpoint), url=reach.services.url_of(endpoint.slug))


@router.patch("/{slug}")
async def change(slug: str, body: EndpointChange, reach: Reached) -> OneEndpoint:
    """Change what may change after a vend. Queues and verbs never do."""
    if body.protocol is None and body.lease_seconds is None:
        raise Refused(of_field("lease_seconds", "name what to change: this, or protocol"))
    endpoint = taken(
        await reach.services.desk.set(
            reach.workspace_id,
            slug,
            reach.actor,
            protocol=body.protocol,
            lease_ms=None if body.lease_seconds is None else body.lease_seconds * 1000,
        )
    )
    return OneEndpoint(endpoint=reach.shown(endpoint), url=reach.services.url_of(endpoint.slug))


@router.post("/{slug}/rotate")
async def rotate(slug: str, reach: Reached, body: Rotation | None = None) -> RevealedEndpoint:
    """Mint another credential. It is in this answer and nowhere else."""
    overlap_s = 0 if body is None else body.overlap_seconds
    key = taken(await reach.services.desk.rotate(reach.workspace_id, slug, overlap_s * 1000))
    url = reach.services.url_of(key.rotated.endpoint.slug)
    return RevealedEndpoint(
        endpoint=reach.shown(key.rotated.endpoint),
        url=url,
        credential=key.credential,
        mcp_json=mcp_json(url, key.credential),
    )


@router.post("/{slug}/revoke")
async def revoke(slug: str, reach: Reached) -> RevokedEndpoint:
    """End an endpoint: its credential, streams, sessions and claims."""
    ended = taken(await reach.services.desk.revoke(reach.workspace_id, slug, reach.actor))
    return RevokedEndpoint(
        endpoint=reach.shown(ended.endpoint),
        url=reach.services.url_of(ended.endpoint.slug),
        released=len(ended.released),
        failed=len(ended.failed),
        sessions_closed=ended.sessions_closed,
    )


def _replaced(replaced: Replaced) -> ReplacedEndpoint:
    ended = replaced.ended
    return ReplacedEndpoint(
        slug=ended.endpoint.slug,
        moved=len(replaced.moved),
        released=len(ended.released),
        failed=len(ended.failed),
        sessions_closed=ended.sessions_closed,
    )
