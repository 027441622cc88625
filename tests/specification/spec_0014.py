"""SPEC-0014, the agent surface over MCP Streamable HTTP: its promises in our words."""

from __future__ import annotations

from tests.specification.entry import Requirement, Section

_endpoint = Section("SPEC-0014/endpoint", "SPEC-0014 Streamable HTTP MCP Endpoint")
_bearer = Section("SPEC-0014/bearer", "SPEC-0014 Bearer Authentication")
_tools = Section("SPEC-0014/tools", "SPEC-0014 Agent Tool Surface")
_push = Section("SPEC-0014/push", "SPEC-0014 Channels Push")
_wiring = Section("SPEC-0014/wiring", "SPEC-0014 HTTP Wiring")
_errors = Section("SPEC-0014/errors", "SPEC-0014 Error Handling")
_concurrency = Section("SPEC-0014/concurrency", "SPEC-0014 Concurrency Safety")
_routes = Section("SPEC-0014/routes", "SPEC-0014 Endpoints")
_secrets = Section("SPEC-0014/secrets", "SPEC-0014 Endpoints")
_security = Section("SPEC-0014/security", "SPEC-0014 Security Requirements")

NOT_SHOWN = "its parts are built; it counts once a test shows it on the whole service"

SPEC_0014: tuple[Requirement, ...] = (
    # --- the endpoint
    _endpoint.done(
        "mounted-at-slug", "An MCP server answers at /mcp/ plus the slug minted by vend"
    ),
    _endpoint.adapted(
        "official-sdk",
        "The protocol is spoken by the official SDK",
        "the text names the Go SDK; here the official Python SDK's kernel does negotiation, "
        "dispatch, wire versions and error codes, pinned by a contract test",
    ),
    _endpoint.adapted(
        "hermetic-build",
        "The SDK that is built is exactly the one that was reviewed",
        "the text asks for a vendored copy; here requirements/lock.txt pins every dependency "
        "by hash and make installs nothing else",
    ),
    _endpoint.done("initialize", "initialize is answered with server name and capabilities"),
    _endpoint.done("tools-list", "tools/list is answered"),
    _endpoint.done("tools-call", "tools/call is answered"),
    _endpoint.done("ping", "ping is answered"),
    _endpoint.done(
        "version-negotiated", "The protocol version is the one that the SDK agrees with the client"
    ),
    _endpoint.done("notification-stream", "A GET opens a stream of server-to-client messages"),
    _endpoint.done("no-stdio", "The service has no stdio way for an agent to connect"),
    _endpoint.done(
        "client-connects",
        "Scenario: a standard client shakes hands, sees the tool capability, lists and calls "
        "tools within one session",
    ),
    _endpoint.done(
        "channel-command-gone", "Scenario: `switchboard channel` fails as an unknown command"
    ),
    # --- the bearer
    _bearer.done("required", "Each method under /mcp/ wants an Authorization: Bearer header"),
    _bearer.done("resolved-by-hash", "The credential is found by its hash, never stored in plain"),
    _bearer.done("missing", "Without a credential the answer is 401"),
    _bearer.done("unknown", "With a credential that nobody was given the answer is 401"),
    _bearer.done("other-endpoint", "A good credential on another endpoint's path gets 403"),
    _bearer.done("revoked", "A revoked endpoint's credential gets 401"),
    _bearer.done(
        "revoked-no-hint", "A revoked slug and one that never was are answered byte for byte alike"
    ),
    _bearer.done("url-alone", "Knowing the URL opens nothing"),
    _bearer.done("last-seen", "An admitted request moves the endpoint's last-seen time"),
    _bearer.done(
        "revocation-stops-calls",
        "Scenario: after revocation tools/list gets 401 and the call is not processed",
    ),
    _bearer.done(
        "mismatch-runs-nothing",
        "Scenario: agent A's credential at agent B's path gets 403 and no tool runs",
    ),
    # --- the tools
    _tools.done("five-verbs", "list_todos, claim, complete, fail and heartbeat are served"),
    _tools.done("schemas", "Each tool states its input schema and arguments are checked by it"),
    _tools.done("structured-output", "Results are structured and fit the tool's output schema"),
    _tools.done("error-mapping", "Each kind of domain error has one stable code in the tool error"),
    _tools.done("advertised-by-allowlist", "tools/list names only the verbs in the allowlist"),
    _tools.done("verb-enforced", "A call of a verb outside the allowlist is a scope error"),
    _tools.done("queue-enforced", "A call on a queue outside the scope is a scope error"),
    _tools.done("refused-before-store", "Scope is judged before the store is asked"),
    _tools.done("out-of-scope-no-effect", "A call out of scope changes nothing"),
    _tools.done(
        "lifecycle-is-the-queues",
        "What a verb does to a todo is the domain's transition table, the same as for people",
    ),
    _tools.done(
        "scope-filters-tools",
        "Scenario: an endpoint with list_todos and claim shows exactly those two, and complete "
        "is a scope error that leaves the todo as it was",
    ),
    # --- the doorbell
    _push.done("capability", "Sessions advertise the experimental claude/channel capability"),
    _push.done("on-the-stream", "Doorbells are notifications/claude/channel on the GET stream"),
    _push.done("shape", "A doorbell is one line of text and meta with snake_case names"),
    _push.done("only-a-hint", "A lost doorbell changes nothing in the queue and is never stored"),
    _push.done("nothing-lost-but-latency", "An agent without a stream finds all work by asking"),
    _push.done("verified-human-only", "Only todos from a verified human are rung"),
    _push.done("text-neutralised", "Payload text cannot close or forge the channel's wrapper"),
    _push.done(
        "doorbell-arrives",
        "Scenario: a todo that becomes ready in scope rings the open stream with summary and "
        "routing meta",
    ),
    _push.done(
        "no-stream-no-loss",
        "Scenario: a todo that becomes ready without a stream rings nobody and is listed later, "
        "unchanged",
    ),
    # --- wiring
    _wiring.done("reveal-http-only", "A reveal prints HTTP wiring and nothing else"),
    _wiring.done("docs-http-only", "Every wiring block in the documentation is of type http"),
    _wiring.done(
        "no-local-command", "No page tells an agent's owner to install or start something locally"
    ),
    _wiring.done(
        "no-agent-rest",
        "There is no /agent/ route and no /agent/stream",
    ),
    _wiring.done(
        "vend-reveal",
        "Scenario: vending shows once the block with type http, the URL and the credential, and "
        "no command",
    ),
    # --- errors
    _errors.done("wrapped", "An error that crosses a layer is raised from its cause with context"),
    _errors.done(
        "named-kinds",
        "Unauthorized, scope violation, not found and lease conflict are types of their own",
    ),
    _errors.done("none-swallowed", "No error vanishes: it is answered or it is logged"),
    _errors.done("structured-log", "Log records are key-value with endpoint slug and tool name"),
    _errors.done(
        "no-credential-in-log",
        "No log record contains a credential",
    ),
    _errors.done(
        "store-failure",
        "Scenario: when the store fails inside a call the client gets a generic tool error and "
        "the log has endpoint, tool and the chain of causes",
    ),
    # --- concurrency
    _concurrency.done(
        "cancellation-reaches-store", "A request that is cut or cancelled cancels its store call"
    ),
    _concurrency.done("stream-ends-on-disconnect", "A client that leaves frees its stream"),
    _concurrency.done(
        "stream-ends-on-shutdown",
        "Shutdown ends open streams and then returns",
    ),
    _concurrency.done("stream-ends-on-revocation", "Revocation ends the endpoint's streams"),
    _concurrency.done("nothing-leaks", "No task or thread outlives the stream that needed it"),
    _concurrency.done("shared-state-safe", "Registry and fan-out stay right under parallel use"),
    _concurrency.adapted(
        "race-detection",
        "Concurrent tests run with races made visible",
        "the text means Go's race detector; here the concurrency suite runs in asyncio debug "
        "mode, warnings are errors, writer objects assert their thread, no task or thread may "
        "outlive its test, and a seeded scheduler shuffles the order of ready callbacks",
    ),
    _concurrency.done(
        "revocation-closes-streams",
        "Scenario: revoking closes the open stream promptly and later requests get 401",
    ),
    # --- routes and secrets
    _routes.done("post", "POST carries requests, with a bearer"),
    _routes.done("get", "GET opens the notification stream, with a bearer"),
    _routes.done("delete", "DELETE ends the session, with a bearer"),
    _routes.done("none-public", "No path under /mcp/ answers anything but 401 without a bearer"),
    _secrets.done(
        "plain-http-behind-proxy",
        "The service speaks plain HTTP on loopback by default and leaves TLS to the proxy",
    ),
    _secrets.done(
        "never-emitted",
        "A credential is in no log, no error and no notification, whatever fails",
    ),
    # --- security
    _security.done("no-anonymous", "There is no anonymous MCP operation"),
    _security.done("cookies-carry-nothing", "A board session's cookie opens nothing under /mcp/"),
    _security.done("rate-per-endpoint", "Each endpoint has its own token bucket"),
    _security.done("rate-covers-posts", "POSTs beyond the bucket get 429"),
    _security.done("rate-covers-streams", "Opening streams beyond the bucket gets 429"),
    _security.done("nosniff", "Every MCP answer says X-Content-Type-Options: nosniff"),
    _security.done("no-store", "Every MCP answer says Cache-Control: no-store"),
    _security.done(
        "html-headers-kept", "The headers that protect pages are as strong here as elsewhere"
    ),
    _security.done("body-limit", "A body of 1 MiB passes, one byte more gets 413"),
    _security.done(
        "body-limit-before-parsing", "An oversized body is refused before JSON is parsed"
    ),
    _security.done("csrf-by-construction", "Cookies are ignored: the bearer alone acts"),
    _security.done("no-redirects", "Nothing under /mcp/ answers with a redirect"),
)
