-- What only an ended endpoint could do is given up.
UPDATE todo
SET state = 'failed', failure_reason = 'endpoint_revoked', assignee_id = NULL, holder_id = NULL,
    lease_token_hash = NULL, ended_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE assignee_id = :endpoint_id AND state = 'pending'
RETURNING *
