-- An ended endpoint's claims go back free of charge.
UPDATE todo
SET state = 'pending', lease_expires_at_ms = NULL, lease_token_hash = NULL, holder_id = NULL,
    available_at_ms = :now_ms, ready_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE lease_expires_at_ms IS NOT NULL AND holder_id = :endpoint_id
RETURNING *
