"""agent-transport-mcp, one agent session as an MCP server: its promises in our words."""

from __future__ import annotations

from tests.specification.entry import Requirement, Section

_stdio = Section("agent-transport/stdio", "agent-transport-mcp Transport Admission")
_loopback = Section("agent-transport/loopback", "agent-transport-mcp Transport Admission")
_remote = Section("agent-transport/remote", "agent-transport-mcp Transport Admission")
_admission = Section("agent-transport/admission", "agent-transport-mcp Transport Admission")
_boundary = Section("agent-transport/boundary", "agent-transport-mcp Boundaries")
_lifecycle = Section("agent-transport/lifecycle", "agent-transport-mcp Lifecycle guarantees")
_http = Section("agent-transport/http", "agent-transport-mcp Lifecycle guarantees")
_catalog = Section("agent-transport/catalog", "agent-transport-mcp Canonical catalog")
_call = Section("agent-transport/call", "agent-transport-mcp Canonical catalog and invocation")
_errors = Section("agent-transport/errors", "agent-transport-mcp Error Taxonomy")


AGENT_TRANSPORT: tuple[Requirement, ...] = (
    # --- stdio
    _stdio.done("no-admission", "stdio asks for no credential: the peer is the user"),
    # --- loopback
    _loopback.done("binds-127", "The loopback host listens on 127.0.0.1 alone"),
    _loopback.done("refuses-other-bind", "Any other bind address is refused"),
    _loopback.done("fresh-bearer", "Each start mints a new bearer of 256 bits"),
    _loopback.done(
        "bearer-to-owner-only", "The bearer is handed to the caller of start, nowhere else"
    ),
    _loopback.done("host-403", "A Host that is not the listener's own gets 403"),
    _loopback.done("host-with-port", "Host must name the loopback address and the listener's port"),
    _loopback.done("origin-403", "An Origin that is not exactly its own gets 403"),
    _loopback.done("origin-absent", "A request without Origin passes that check"),
    _loopback.done("bearer-401", "A wrong or missing bearer gets 401"),
    _loopback.done("before-body", "Each refusal comes before the body is read"),
    # --- remote
    _remote.done("verifier-decides", "Only a token that the verifier takes is let in"),
    _remote.done("no-loopback-bearer", "It neither mints nor takes a loopback bearer"),
    _remote.done("shared-gate", "It refuses in the same bytes as every other token carrier"),
    _remote.done(
        "names-from-public-url",
        "Endpoint path, metadata path, Host and Origin come from the public URL, not the listener",
    ),
    _remote.done("verifies-before-counting", "The token is verified before the throttle is asked"),
    _remote.done("counts-failures-only", "Only failures fill the throttle"),
    _remote.done(
        "good-token-never-throttled", "A valid token passes although others at its address failed"
    ),
    _remote.done(
        "forwarded-from-proxy-only", "A forwarded address is believed only from a configured proxy"
    ),
    _remote.done("needs-verifier", "It cannot be built without a verifier"),
    _remote.done("needs-https-url", "It cannot be built without an https public URL"),
    _remote.done("binds-elsewhere", "It alone may listen beyond loopback"),
    # --- all carriers
    _admission.done(
        "canonical-catalog-only", "Every carrier serves the runtime's own catalog alone"
    ),
    _admission.done(
        "permission-without-prompt",
        "Every call passes the session's permission wrapper and nobody is prompted",
    ),
    # --- boundaries
    _boundary.done(
        "verifier-injected", "The MCP package checks no signature: the verifier is given"
    ),
    _boundary.done("contracts-only", "It depends on the session and transport contracts alone"),
    _boundary.done("sdk-isolated", "All but the MCP package works without the MCP SDK installed"),
    _boundary.done("no-dependents", "No other transport imports the MCP transport"),
    _boundary.done(
        "two-roles", "It uses a session's turn submission and runtime tools, nothing more"
    ),
    _boundary.done("adapter-contract", "The public transport is the transport contract, not wider"),
    _boundary.done("full-session-fits", "A full session can be attached because it has both roles"),
    # --- lifecycle
    _lifecycle.done("frozen", "The lifecycle object cannot be altered from outside"),
    _lifecycle.done("start-checks-catalog", "start checks the catalog first"),
    _lifecycle.done("start-means-serving", "start returns only when requests can be served"),
    _lifecycle.done("start-cancellable", "A pending start can be cancelled"),
    _lifecycle.done("start-bounded", "A pending start ends after 15 seconds"),
    _lifecycle.done("start-before-attach", "start before attach is refused"),
    _lifecycle.done("start-twice", "start while started is refused"),
    _lifecycle.done("stop-twice", "stop may be called again"),
    _lifecycle.done("restart-needs-attach", "After stop a new attach is needed"),
    # --- both HTTP hosts
    _http.done("checks-before-listening", "Catalog and bind are checked before a socket listens"),
    _http.done("stateless", "No session id is issued, kept, swept or resumed"),
    _http.done("no-get-stream", "GET opens no stream"),
    _http.done("one-session", "One listener serves the one attached session to every request"),
    _http.done("wire-is-sdks", "Schema and protocol errors on the wire are the SDK's"),
    # --- catalog
    _catalog.done("checked-first", "The catalog is checked before any call"),
    _catalog.done("canonical-names", "Tools keep the runtime's name, description and schema"),
    _catalog.done("no-command-route", "There is no second naming scheme for commands"),
    _catalog.done(
        "submission-identity", "The submission tool has the host's name or a neutral one"
    ),
    _catalog.done("collision-fails-start", "A tool of the same name fails the start"),
    _catalog.done("later-collision-visible", "A later clash fails listing and calling, visibly"),
    _catalog.done("tools-only", "Neither resources nor prompts are advertised"),
    # --- calls
    _call.done("delegates", "A call is the session's own runtime-tool call"),
    _call.done("unknown-name", "An unknown name is a visible tool error"),
    _call.done("permission-denied", "A denied permission is a visible tool error"),
    _call.done(
        "permission-interactive", "A permission that needs a person is a visible tool error"
    ),
    _call.done("busy", "A busy session is a visible tool error"),
    _call.done("cancelled", "A cancelled call is a visible tool error"),
    _call.done("cancel-spares-others", "Cancelling one submission leaves another's turn alone"),
    # --- errors
    _errors.done("protocol-by-sdk", "Protocol errors are raised and coded by the SDK"),
    _errors.done("empty-bodies", "A refusal has an empty body"),
    _errors.done("nothing-leaks", "A refusal carries no credential, result or internal detail"),
    _errors.done(
        "challenge-only",
        "A token refusal adds the Bearer challenge: error code, scope, metadata location",
    ),
    _errors.done("no-description", "The challenge never has an error description"),
    _errors.done("audit-closed-set", "A refusal's audit record is one of a fixed list of reasons"),
    _errors.done(
        "audit-address-class", "The audit record has the class of the address, not the address"
    ),
    _errors.done("audit-no-token", "The audit record has no part of the token"),
    _errors.done("failures-visible", "A listener that cannot start or close says so to its owner"),
)
