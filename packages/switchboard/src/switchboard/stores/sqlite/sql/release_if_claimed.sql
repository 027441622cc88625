-- Take a todo from its holder. Guard: claimed. Rows: 0 or 1.
UPDATE todo
SET state = 'pending', holder_id = NULL, lease_token_hash = NULL, lease_expires_at_ms = NULL,
    available_at_ms = :now_ms, ready_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id AND state = 'claimed'
RETURNING *
