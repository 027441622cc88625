-- Give the oldest token of the founding owner a new secret.
UPDATE operator_token SET hash = :hash, id = :token_id, revoked_at_ms = NULL
WHERE id = (SELECT id FROM operator_token ORDER BY created_at_ms, id LIMIT 1)
