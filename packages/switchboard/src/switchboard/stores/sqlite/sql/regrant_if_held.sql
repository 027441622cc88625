-- Give a running lease another token. Guard: this endpoint's, under this key, running, in scope, endpoint active. Rows: 0 or 1.
UPDATE todo
SET lease_token_hash = :token_hash, updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id AND state = 'claimed'
  AND holder_id = :endpoint_id AND claim_key = :claim_key AND lease_expires_at_ms > :now_ms
  AND instr(:queues, '"' || queue || '"') > 0
  AND EXISTS (SELECT 1 FROM endpoint AS e
              WHERE e.id = :endpoint_id AND e.state = 'active'
                AND (e.expires_at_ms IS NULL OR e.expires_at_ms > :now_ms))
  AND EXISTS (SELECT 1 FROM credential AS c
              WHERE c.id = :credential_id AND c.ended_at_ms IS NULL
                AND (c.expires_at_ms IS NULL OR c.expires_at_ms > :now_ms))
RETURNING *
