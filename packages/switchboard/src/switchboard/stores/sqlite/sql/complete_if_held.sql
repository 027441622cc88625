-- Finish a todo; with state pending: a swept one. Guard: state, holder, token, scope, endpoint active. Rows: 0 or 1.
UPDATE todo
SET state = 'done', result_json = :result_json, summary = :summary, holder_id = NULL,
    lease_token_hash = NULL, lease_expires_at_ms = NULL, ended_at_ms = :now_ms, updated_at_ms = :now_ms
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
