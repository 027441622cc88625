-- Lease a todo. Guard: ready, below the lapse cap, unassigned or mine, not paused, in scope, endpoint active. Rows: 0 or 1.
UPDATE todo
SET state = 'claimed', attempt = attempt + 1, lapses = lapses + (state = 'claimed'),
    holder_id = :endpoint_id, lease_token_hash = :token_hash,
    lease_expires_at_ms = :now_ms + :lease_ms, ready_at_ms = :now_ms + :lease_ms,
    claim_key = :claim_key, rings = 0, updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id
  AND ended_at_ms IS NULL AND ready_at_ms <= :now_ms
  AND (state = 'pending' OR lapses + 1 < max_lapses)
  AND (assignee_id IS NULL OR assignee_id = :endpoint_id)
  AND instr(:queues, '"' || queue || '"') > 0
  AND NOT EXISTS (SELECT 1 FROM queue AS q
                  WHERE q.workspace_id = todo.workspace_id AND q.name = todo.queue AND q.paused = 1)
  AND EXISTS (SELECT 1 FROM endpoint AS e
              WHERE e.id = :endpoint_id AND e.state = 'active'
                AND (e.expires_at_ms IS NULL OR e.expires_at_ms > :now_ms))
  AND EXISTS (SELECT 1 FROM credential AS c
              WHERE c.id = :credential_id AND c.ended_at_ms IS NULL
                AND (c.expires_at_ms IS NULL OR c.expires_at_ms > :now_ms))
RETURNING *
