-- Two credentials of one endpoint: which is the current one, and when the other one ends.

-- serves expire_credentials and next_expiry
CREATE INDEX credential_expiring ON credential (expires_at_ms)
    WHERE ended_at_ms IS NULL AND expires_at_ms IS NOT NULL;

-- decides rotate: one credential of an endpoint is the current one, and it has no end of its own
CREATE UNIQUE INDEX credential_current ON credential (endpoint_id) WHERE expires_at_ms IS NULL;
