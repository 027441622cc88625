"""`/endpoints`."""

from __future__ import annotations

from fastapi import APIRouter

from switchboard.api.answers import (
    EndpointList,
    OneEndpoint,
    RevokedEndpoint,
    VendedEndpoint,
)
from switchboard.api.bodies import EndpointChange, NewEndpointBody
from switchboard.api.problem import Refused, of_field
from switchboard.api.reach import Reached, found, taken
from switchboard.api.strict_json import StrictRoute
from switchboard.wiring import mcp_json

router = APIRouter(prefix="/endpoints", tags=["endpoints"], route_class=StrictRoute)


@router.post("", status_code=201)
async def vend(body: NewEndpointBody, reach: Reached) -> VendedEndpoint:
    """Vend an endpoint. Its credential is in this answer and nowhere else."""
    vended = taken(await reach.services.desk.vend(reach.workspace_id, body.draft(), reach.actor))
    url = reach.services.url_of(vended.endpoint.slug)
    return VendedEndpoint(
        endpoint=reach.shown(vended.endpoint),
        url=url,
        credential=vended.credential,
        mcp_json=mcp_json(url, vended.credential),
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
