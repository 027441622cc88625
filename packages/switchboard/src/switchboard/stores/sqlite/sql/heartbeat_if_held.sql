-- Extend a lease, never shorten it; with state pending: take a swept todo up again. Guard: state, holder, token, scope, endpoint active. Rows: 0 or 1.
UPDATE todo
SET state = 'claimed',
    lease_expires_at_ms = max(coalesce(lease_expires_at_ms, 0), :now_ms + :lease_ms),
    ready_at_ms = max(coalesce(lease_expires_at_ms, 0), :now_ms + :lease_ms),
    updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id AND state = :state
  AND instr(:queues, '"' || queue || '"') > 0
  AND holder_id = :endpoint_id
  AND lease_token_hash IS NOT NULL
  AND (lease_token_hash = :token_hash
       OR (:token_hash IS NULL
           AND (SELECT count(*) FROM attempt AS a
                WHERE a.todo_id = todo.id AND a.holder_id = :endpoint_id) <= 1))
  AND EXISTS (SELECT 1 FROM endpoint AS e
              WHERE e.id = :endpoint_id AND e.state = 'active'
                AND (e.expires_at_ms IS NULL OR e.expires_at_ms > :now_ms))
  AND EXISTS (SELECT 1 FROM credential AS c
              WHERE c.id = :credential_id AND c.ended_at_ms IS NULL
                AND (c.expires_at_ms IS NULL OR c.expires_at_ms > :now_ms))
RETURNING *
