"""Admission: who may speak to a server, decided before a byte of the request body is read.

Everything here is a pure decision but `gate`, `body_limit` and `answer`, which speak plain ASGI.
The clock and the randomness are passed in. A JWT verifier needs a library and so stands apart,
in `agent_transport.admission.jwt`.
"""

from agent_transport.admission.answer import (
    SECURITY_HEADERS,
    send_empty,
    send_json,
    send_refusal,
)
from agent_transport.admission.audit import Audit, AuditRecord
from agent_transport.admission.authorization import Authorization, build_authorization
from agent_transport.admission.bearer import (
    MAX_TOKEN_BYTES,
    Bearer,
    BearerFault,
    Shape,
    is_expected,
    is_token68,
    mint_bearer,
    parse_bearer,
    prefixed_shape,
)
from agent_transport.admission.body_limit import (
    BODY_BOUND_S,
    MAX_BODY_BYTES,
    BodyFault,
    body_refusal,
    declares_more_than,
    read_body,
)
from agent_transport.admission.challenge import (
    PLAIN_CHALLENGE,
    ChallengeError,
    resource_challenge,
)
from agent_transport.admission.client_address import (
    Address,
    AddressClass,
    TrustedProxies,
    address_class,
    find_client_address,
    parse_proxies,
    throttle_key,
)
from agent_transport.admission.cors import (
    cross_origin_headers,
    is_preflight,
    preflight_headers,
)
from agent_transport.admission.decision import Admitted, Headers, Reason, Refusal
from agent_transport.admission.gate import ADMITTED, VERIFY_BOUND_S, ResourceServerGate
from agent_transport.admission.host import HostRule, listener_host, only_host, public_host
from agent_transport.admission.origin import OriginRule, find_origin, origin_rule, parse_origin
from agent_transport.admission.public_url import PublicUrl, parse_public_url
from agent_transport.admission.scopes import is_scope, lacks_scope, parse_scopes, write_scopes
from agent_transport.admission.throttle import Buckets, FailureWindow, Rate, retry_after
from agent_transport.admission.verifier import Refused, TokenFault, TokenVerifier

__all__ = [
    "ADMITTED",
    "BODY_BOUND_S",
    "MAX_BODY_BYTES",
    "MAX_TOKEN_BYTES",
    "PLAIN_CHALLENGE",
    "SECURITY_HEADERS",
    "VERIFY_BOUND_S",
    "Address",
    "AddressClass",
    "Admitted",
    "Audit",
    "AuditRecord",
    "Authorization",
    "Bearer",
    "BearerFault",
    "BodyFault",
    "Buckets",
    "ChallengeError",
    "FailureWindow",
    "Headers",
    "HostRule",
    "OriginRule",
    "PublicUrl",
    "Rate",
    "Reason",
    "Refusal",
    "Refused",
    "ResourceServerGate",
    "Shape",
    "TokenFault",
    "TokenVerifier",
    "TrustedProxies",
    "address_class",
    "body_refusal",
    "build_authorization",
    "cross_origin_headers",
    "declares_more_than",
    "find_client_address",
    "find_origin",
    "is_expected",
    "is_preflight",
    "is_scope",
    "is_token68",
    "lacks_scope",
    "listener_host",
    "mint_bearer",
    "only_host",
    "origin_rule",
    "parse_bearer",
    "parse_origin",
    "parse_proxies",
    "parse_public_url",
    "parse_scopes",
    "prefixed_shape",
    "preflight_headers",
    "public_host",
    "read_body",
    "resource_challenge",
    "retry_after",
    "send_empty",
    "send_json",
    "send_refusal",
    "throttle_key",
    "write_scopes",
]
