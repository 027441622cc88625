"""The API's application: its routes, and how whatever goes wrong becomes a problem document."""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, FastAPI, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from agent_transport.admission.asgi import Application
from switchboard import __version__
from switchboard.api import endpoints, queues, todos
from switchboard.api.description import description_page
from switchboard.api.problem import (
    MEDIA_TYPE,
    Problem,
    ProblemDocument,
    Refused,
    of_code,
    of_field,
    of_status,
)
from switchboard.api.reach import ApiServices
from switchboard.domain.refusal import Code
from switchboard.errors import StoreUnavailable

_PREFIX = "/api/v1"
_TAGS = ("body", "query", "path", "one", "many")
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemDocument, "description": text}
    for status, text in (
        (401, "No valid operator token"),
        (403, "The token's role does not allow it"),
        (404, "Nothing of that name in this workspace"),
        (409, "The current state does not allow it"),
        (422, "An argument is not valid"),
        (503, "The ledger cannot answer now"),
    )
}
_REASONS = {404: "there is no such resource", 405: "this resource does not take that method"}


def build_api(services: ApiServices) -> Application:
    """The application of `/api/v1`. A gate must stand in front: it leaves the operator behind."""
    app = FastAPI(
        title="Switchboard",
        version=__version__,
        openapi_url=f"{_PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    app.include_router(_routes(), prefix=_PREFIX)
    _describe(app)
    _answer_problems(app)
    return cast(Application, app)


def _routes() -> APIRouter:
    bearer = HTTPBearer(auto_error=False, description="An operator token (sbo_…).")
    routes = APIRouter(dependencies=[Security(bearer)], responses=_PROBLEMS)
    for one in (todos.router, endpoints.router, queues.router):
        routes.include_router(one)
    return routes


def _describe(app: FastAPI) -> None:
    page = description_page(app.openapi())

    async def docs(_: Request) -> Response:
        return HTMLResponse(page)

    app.add_route(f"{_PREFIX}/docs", docs, include_in_schema=False)


def _answer_problems(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return _response(cast(Refused, error).problem)

    async def invalid(_: Request, error: Exception) -> Response:
        return _response(_of_validation(cast(RequestValidationError, error)))

    async def http(_: Request, error: Exception) -> Response:
        status = cast(HTTPException, error).status_code
        return _response(of_status(status, _REASONS.get(status, "the request is not valid")))

    async def unavailable(_: Request, error: Exception) -> Response:
        return _response(of_code(Code.UNAVAILABLE, ((b"retry-after", b"2"),)))

    async def internal(_: Request, error: Exception) -> Response:
        return _response(of_code(Code.INTERNAL))

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(StoreUnavailable, unavailable)
    app.add_exception_handler(Exception, internal)


def _of_validation(error: RequestValidationError) -> Problem:
    """Tells of the first fault only, and never repeats what was sent but for a field's name."""
    first: dict[str, Any] = error.errors()[0]
    if first["type"] == "json_invalid":
        return of_status(400, "the body is not JSON")
    named = [str(part) for part in first["loc"] if part not in _TAGS]
    return of_field(".".join(named) or "body", first["msg"])


def _response(problem: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in problem.headers}
    return Response(problem.document(), problem.status, headers, MEDIA_TYPE)
