"""The resource-server gate: wraps any ASGI application and lets only admitted requests through.

Every answer below is given before a byte of the body is read. The gate knows nothing of what it
guards; who was admitted stands in `scope[ADMITTED]`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

from agent_transport.admission.answer import send_json, send_refusal
from agent_transport.admission.asgi import Application, Receive, Scope, Send
from agent_transport.admission.audit import AuditRecord
from agent_transport.admission.authorization import Authorization
from agent_transport.admission.bearer import Bearer, BearerFault, parse_bearer
from agent_transport.admission.challenge import ChallengeError, resource_challenge
from agent_transport.admission.client_address import (
    address_class,
    find_client_address,
    throttle_key,
)
from agent_transport.admission.decision import Admitted, Headers, Reason, Refusal
from agent_transport.admission.scopes import lacks_scope
from agent_transport.admission.throttle import FailureWindow, retry_after
from agent_transport.admission.verifier import Refused, TokenFault

ADMITTED = "agent_transport.admitted"
"""The scope key under which the wrapped application finds its `Admitted`."""

VERIFY_BOUND_S = 15.0
"""A verifier may have to fetch keys (10 s); past this it counts as unable to tell."""

_log = logging.getLogger("agent_transport.admission")

_FAULTS = {
    BearerFault.MISSING: TokenFault.MISSING_TOKEN,
    BearerFault.DUPLICATE: TokenFault.MISSING_TOKEN,
    BearerFault.NON_ASCII: TokenFault.MISSING_TOKEN,
    BearerFault.MALFORMED: TokenFault.MALFORMED,
    BearerFault.OVERSIZE: TokenFault.OVERSIZE,
}


class ResourceServerGate:
    """Host and Origin, metadata, path, then the token: verify first, count failures only.

    `clock` gives monotonic seconds, `random` numbers in [0, 1).
    """

    def __init__(
        self,
        app: Application,
        authorization: Authorization,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
    ) -> None:
        url = authorization.public_url
        self._app = app
        self._authorization = authorization
        self._clock = clock
        self._random = random
        self._host = url.host_rule()
        self._origin = url.origin_rule()
        self._path = url.path.encode("ascii")
        self._metadata_path = url.metadata_path.encode("ascii")
        self._metadata = _metadata_document(authorization)
        self._answers = _token_answers(authorization)
        self._failures = FailureWindow()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        misnamed = self._misnamed(scope)
        if misnamed:
            return await send_refusal(send, misnamed)
        path = _raw_path(scope)
        if path == self._metadata_path:
            return await self._serve_metadata(scope, send)
        if path != self._path:
            return await send_refusal(send, Refusal(404, Reason.PATH))
        return await self._serve_admitted(scope, receive, send)

    def _misnamed(self, scope: Scope) -> Refusal | None:
        if not self._host.admits(scope["headers"]):
            _log.info("host_refused: Host is not the public URL's; a proxy must preserve it")
            return Refusal(403, Reason.HOST)
        if not self._origin.admits(scope["headers"]):
            return Refusal(403, Reason.ORIGIN)
        return None

    async def _serve_metadata(self, scope: Scope, send: Send) -> None:
        if scope["method"] == "GET":
            await send_json(send, self._metadata)
        else:
            await send_refusal(send, Refusal(405, Reason.METHOD, ((b"allow", b"GET"),)))

    async def _serve_admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        decision = await self._decide(scope)
        if isinstance(decision, Refusal):
            await send_refusal(send, decision)
        else:
            await self._app({**scope, ADMITTED: decision}, receive, send)

    async def _decide(self, scope: Scope) -> Admitted | Refusal:
        bearer = parse_bearer(scope["headers"])
        if isinstance(bearer, BearerFault):
            return self._refuse(scope, _FAULTS[bearer])
        verdict = await self._verify(bearer)
        if isinstance(verdict, Refused):
            return self._refuse(scope, verdict.reason)
        if lacks_scope(self._authorization.scopes, verdict.scopes):
            return self._refuse(scope, TokenFault.MISSING_SCOPE)
        return verdict

    async def _verify(self, bearer: Bearer) -> Admitted | Refused:
        try:
            async with asyncio.timeout(VERIFY_BOUND_S):
                return await self._authorization.verifier.verify(bearer.token)
        except Exception as error:  # an injected verifier broke its contract: fail closed
            # Only the kind of error is logged; its text may quote the token.
            _log.error("verifier_failed kind=%s", type(error).__name__)
            return Refused(TokenFault.KEYS_UNAVAILABLE)

    def _refuse(self, scope: Scope, fault: TokenFault) -> Refusal:
        peer = scope.get("client")
        proxies = self._authorization.trusted_proxies
        address = find_client_address(peer[0] if peer else None, scope["headers"], proxies)
        answer, wait_s = self._answers[fault], 0.0
        if fault is not TokenFault.KEYS_UNAVAILABLE:
            wait_s = self._failures.count(throttle_key(address), self._clock())
        self._record(AuditRecord(fault, address_class(address), throttled=wait_s > 0))
        if wait_s > 0:
            return Refusal(429, Reason.THROTTLED, (retry_after(wait_s, self._random),))
        return answer

    def _record(self, record: AuditRecord) -> None:
        try:
            self._authorization.audit(record)
        except Exception as error:  # a broken audit sink must not change an answer
            _log.error("audit_failed kind=%s", type(error).__name__)


def _raw_path(scope: Scope) -> bytes:
    """The path as it was sent: `/%6dcp` is another path than `/mcp`."""
    raw: bytes | None = scope.get("raw_path")
    return scope["path"].encode("utf-8", "surrogatepass") if raw is None else raw


def _metadata_document(authorization: Authorization) -> bytes:
    document = {
        "resource": authorization.public_url.text,
        "authorization_servers": [authorization.issuer],
        "scopes_supported": list(authorization.scopes),
        "bearer_methods_supported": ["header"],
    }
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _token_answers(authorization: Authorization) -> dict[TokenFault, Refusal]:
    """The answer to each fault while its address is not throttled."""

    def challenge(error: ChallengeError | None) -> Headers:
        metadata_url = authorization.public_url.metadata_url
        return (resource_challenge(authorization.scopes, metadata_url, error),)

    invalid = Refusal(401, Reason.CREDENTIAL, challenge(ChallengeError.INVALID_TOKEN))
    answers = dict.fromkeys(TokenFault, invalid)
    answers[TokenFault.MISSING_TOKEN] = Refusal(401, Reason.CREDENTIAL, challenge(None))
    answers[TokenFault.MISSING_SCOPE] = Refusal(
        403, Reason.SCOPE, challenge(ChallengeError.INSUFFICIENT_SCOPE)
    )
    answers[TokenFault.KEYS_UNAVAILABLE] = Refusal(503, Reason.UNAVAILABLE)
    return answers
