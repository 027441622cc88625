-- End a todo for good. Guard: live. Rows: 0 or 1.
UPDATE todo
SET state = 'cancelled', holder_id = NULL, lease_token_hash = NULL, lease_expires_at_ms = NULL,
    ended_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id AND ended_at_ms IS NULL
RETURNING *
