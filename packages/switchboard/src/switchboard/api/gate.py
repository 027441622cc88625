"""Who may use the API, decided before the body is read and before the framework sees a request."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_transport.admission import (
    PLAIN_CHALLENGE,
    BearerFault,
    BodyFault,
    Buckets,
    HostRule,
    OriginRule,
    Rate,
    TrustedProxies,
    find_client_address,
    parse_bearer,
    prefixed_shape,
    read_body,
    retry_after,
    throttle_key,
)
from agent_transport.admission.asgi import Application, Message, Receive, Scope, Send
from switchboard.api.problem import UNAUTHORIZED, Problem, of_code, of_status, send_problem
from switchboard.domain.credential import hash_secret
from switchboard.domain.refusal import Code
from switchboard.domain.workspace import Operator, Role
from switchboard.errors import StoreError

OPERATOR_KEY = "switchboard.operator"
"""Where the gate leaves the operator in the ASGI scope."""

PUBLIC_PATHS = frozenset(("/api/v1/openapi.json", "/api/v1/docs"))
"""The description of the API is the same for everybody and holds no data."""

FindOperator = Callable[[bytes], Awaitable[Operator | None]]

_log = logging.getLogger(__name__)
STORE_BACK_S = 2.0
_SHAPE = prefixed_shape(b"sbo_", 43)
_READING = ("GET", "HEAD")
_UNKNOWN = Problem(
    401, UNAUTHORIZED, "a valid operator token is needed", headers=(PLAIN_CHALLENGE,)
)
_BODY_PROBLEMS = {
    BodyFault.TOO_LARGE: of_status(413, "the body is larger than 1 MiB"),
    BodyFault.TOO_SLOW: of_status(408, "the body took too long"),
}
_NOT_JSON = of_status(415, "the body must be application/json")


@dataclass(frozen=True, slots=True)
class GateRules:
    """What the gate is told from the settings."""

    host: HostRule
    origin: OriginRule
    trusted_proxies: TrustedProxies
    address_rate: Rate


class ApiGate:
    """Stands in front of the API's application.

    Order: Host, Origin, token, role, body. What it refuses closes the connection.
    """

    def __init__(
        self,
        application: Application,
        find_operator: FindOperator,
        rules: GateRules,
        random: Callable[[], float],
    ) -> None:
        self._application = application
        self._find_operator = find_operator
        self._rules = rules
        self._random = random
        self._addresses = Buckets(rules.address_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._refuse_caller(scope)
        if problem is None and scope["path"] not in PUBLIC_PATHS:
            problem = await self._refuse_operator(scope)
        if problem is not None:
            await send_problem(send, problem, close=True)
            return
        body = await read_body(scope, receive)
        if isinstance(body, BodyFault):
            if body in _BODY_PROBLEMS:
                await send_problem(send, _BODY_PROBLEMS[body], close=True)
        elif body and not _is_json(scope):
            await send_problem(send, _NOT_JSON)
        else:
            await self._pass_on(scope, _replaying(body, receive), send)

    def _refuse_caller(self, scope: Scope) -> Problem | None:
        if not self._rules.host.admits(scope["headers"]):
            _log.info("host_refused: Host is not the public URL's; set public_url")
            return of_status(403, "this name is not one of the service's; see public_url")
        if not self._rules.origin.admits(scope["headers"]):
            _log.info("origin_refused: this page's Origin is not listed; set allowed_origins")
            return of_status(403, "pages of this origin may not call; see allowed_origins")
        return None

    async def _refuse_operator(self, scope: Scope) -> Problem | None:
        try:
            operator = await self._authenticate(scope)
        except StoreError:
            _log.warning("token_unreadable", exc_info=True)
            return of_code(Code.UNAVAILABLE, (retry_after(STORE_BACK_S, self._random),))
        if operator is None:
            return self._unknown(scope)
        needed = Role.VIEWER if scope["method"] in _READING else Role.OPERATOR
        if not operator.may(needed):
            return of_code(Code.FORBIDDEN)
        scope[OPERATOR_KEY] = operator
        return None

    async def _authenticate(self, scope: Scope) -> Operator | None:
        bearer = parse_bearer(scope["headers"], shape=_SHAPE)
        if isinstance(bearer, BearerFault):
            return None
        return await self._find_operator(hash_secret(bearer.token))

    def _unknown(self, scope: Scope) -> Problem:
        peer = scope.get("client")
        address = find_client_address(
            peer[0] if peer else None, scope["headers"], self._rules.trusted_proxies
        )
        wait_s = self._addresses.take(throttle_key(address), time.monotonic())
        if wait_s > 0:
            return of_code(Code.RATE_LIMITED, (retry_after(wait_s, self._random),))
        return _UNKNOWN

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._application(scope, receive, send)
        except Exception:
            # The framework has answered 500 by now; it raises again so that somebody logs it.
            _log.exception("api_failed", extra={"method": scope["method"], "path": scope["path"]})


def _is_json(scope: Scope) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    return len(kinds) == 1 and kinds[0].split(b";")[0].strip().lower() == b"application/json"


def _replaying(body: bytes, receive: Receive) -> Receive:
    """The body once more, then whatever the connection tells."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replaying() -> Message:
        return pending.pop() if pending else await receive()

    return replaying
