-- The ledger: workspaces, people, queues, endpoints, sessions, todos with attempts and events.
CREATE TABLE workspace (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE person (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE operator_token (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    person_id TEXT NOT NULL REFERENCES person (id),
    name TEXT NOT NULL,
    role TEXT NOT NULL CONSTRAINT operator_token_role CHECK (role IN ('viewer', 'operator', 'owner')),
    hash BLOB NOT NULL UNIQUE,
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
) STRICT;

CREATE TABLE queue (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    name TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0 CONSTRAINT queue_paused CHECK (paused IN (0, 1)),
    ring TEXT NOT NULL DEFAULT 'all' CONSTRAINT queue_ring CHECK (ring IN ('all', 'one')),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE endpoint (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    slug TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    queues TEXT NOT NULL,
    verbs TEXT NOT NULL,
    protocol TEXT NOT NULL CONSTRAINT endpoint_protocol CHECK (protocol IN ('auto', 'legacy')),
    lease_ms INTEGER NOT NULL CONSTRAINT endpoint_lease CHECK (lease_ms BETWEEN 10000 AND 86400000),
    state TEXT NOT NULL CONSTRAINT endpoint_state CHECK (state IN ('active', 'revoked', 'expired')),
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    ended_at_ms INTEGER,
    last_seen_at_ms INTEGER,
    CONSTRAINT endpoint_ended CHECK ((state = 'active') = (ended_at_ms IS NULL))
) STRICT;

-- serves expire_endpoints and next_expiry
CREATE INDEX endpoint_expiring ON endpoint (expires_at_ms)
    WHERE state = 'active' AND expires_at_ms IS NOT NULL;

CREATE TABLE credential (
    id TEXT PRIMARY KEY,
    endpoint_id TEXT NOT NULL REFERENCES endpoint (id),
    hash BLOB NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    ended_at_ms INTEGER
) STRICT;

-- serves the endpoint's display and its end
CREATE INDEX credential_of_endpoint ON credential (endpoint_id);

-- serves expire_credentials and next_expiry
CREATE INDEX credential_expiring ON credential (expires_at_ms)
    WHERE ended_at_ms IS NULL AND expires_at_ms IS NOT NULL;

-- decides rotate: one credential of an endpoint is the current one, and it has no end of its own
CREATE UNIQUE INDEX credential_current ON credential (endpoint_id) WHERE expires_at_ms IS NULL;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    endpoint_id TEXT NOT NULL REFERENCES endpoint (id),
    protocol_version TEXT NOT NULL,
    client_info_json TEXT NOT NULL,
    client_capabilities_json TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    last_used_at_ms INTEGER NOT NULL
) STRICT;

-- serves the cap per endpoint and the end of all of an endpoint's sessions
CREATE INDEX session_of_endpoint ON session (endpoint_id, last_used_at_ms);

CREATE TABLE todo (
    id TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    queue TEXT NOT NULL,
    title TEXT NOT NULL,
    kind TEXT,
    source TEXT,
    payload_json TEXT,
    payload_bytes INTEGER NOT NULL,
    priority INTEGER NOT NULL CONSTRAINT todo_priority CHECK (priority BETWEEN -100 AND 100),
    state TEXT NOT NULL CONSTRAINT todo_state
        CHECK (state IN ('pending', 'claimed', 'done', 'failed', 'cancelled')),
    attempt INTEGER NOT NULL DEFAULT 0 CONSTRAINT todo_attempt CHECK (attempt >= 0),
    failures INTEGER NOT NULL DEFAULT 0,
    lapses INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    max_lapses INTEGER NOT NULL,
    available_at_ms INTEGER NOT NULL,
    ready_at_ms INTEGER NOT NULL,
    assignee_id TEXT REFERENCES endpoint (id),
    holder_id TEXT,
    lease_token_hash BLOB,
    lease_expires_at_ms INTEGER,
    result_json TEXT,
    summary TEXT,
    failure_reason TEXT,
    trust TEXT NOT NULL CONSTRAINT todo_trust CHECK (trust IN ('operator', 'signed', 'token', 'agent')),
    person_id TEXT REFERENCES person (id),
    parent_id TEXT,
    key_space TEXT NOT NULL,
    idempotency_key TEXT,
    rings INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    claim_key TEXT,
    CONSTRAINT todo_lease CHECK ((state = 'claimed') = (lease_expires_at_ms IS NOT NULL)),
    CONSTRAINT todo_claimed_has_holder CHECK (state <> 'claimed' OR holder_id IS NOT NULL),
    CONSTRAINT todo_ended CHECK ((state IN ('done', 'failed', 'cancelled')) = (ended_at_ms IS NOT NULL)),
    CONSTRAINT todo_ended_has_no_holder CHECK (ended_at_ms IS NULL OR holder_id IS NULL),
    CONSTRAINT todo_failures CHECK (failures BETWEEN 0 AND max_attempts),
    CONSTRAINT todo_lapses CHECK (lapses BETWEEN 0 AND max_lapses)
) STRICT;

-- serves claim_next_ready and ready_for: one lane (queue, assignee), best priority, longest ready
CREATE INDEX todo_ready ON todo (workspace_id, queue, assignee_id, priority DESC, ready_at_ms, id)
    WHERE ended_at_ms IS NULL;

-- serves sweep_lapsed
CREATE INDEX todo_leases ON todo (lease_expires_at_ms) WHERE lease_expires_at_ms IS NOT NULL;

-- serves became_ready
CREATE INDEX todo_due ON todo (available_at_ms) WHERE state = 'pending';

-- serve the lists; a claim touches neither
CREATE INDEX todo_live ON todo (workspace_id, queue, id) WHERE ended_at_ms IS NULL;
CREATE INDEX todo_ended ON todo (workspace_id, queue, state, id) WHERE ended_at_ms IS NOT NULL;

-- serves live_claim_by_key
CREATE INDEX todo_claim_key ON todo (holder_id, claim_key)
    WHERE claim_key IS NOT NULL AND ended_at_ms IS NULL;

-- serves the end of an endpoint
CREATE INDEX todo_assigned ON todo (assignee_id) WHERE ended_at_ms IS NULL AND assignee_id IS NOT NULL;

-- decides create_todo: one live todo per key
CREATE UNIQUE INDEX todo_live_key ON todo (workspace_id, queue, key_space, idempotency_key)
    WHERE ended_at_ms IS NULL AND idempotency_key IS NOT NULL;

CREATE TABLE attempt (
    todo_id TEXT NOT NULL REFERENCES todo (id),
    number INTEGER NOT NULL,
    holder_id TEXT NOT NULL,
    holder_name TEXT NOT NULL,
    token_hash BLOB,
    started_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    outcome TEXT CONSTRAINT attempt_outcome
        CHECK (outcome IN ('done', 'failed', 'lapsed', 'released', 'cancelled', 'revoked')),
    summary TEXT,
    note TEXT,
    ended_digest BLOB,
    PRIMARY KEY (todo_id, number),
    CONSTRAINT attempt_ended CHECK ((outcome IS NULL) = (ended_at_ms IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    todo_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    step TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    detail TEXT
) STRICT;

-- serves a todo's history
CREATE INDEX event_of_todo ON event (todo_id, seq);
