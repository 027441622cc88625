-- Take a claim back whose answer never left. Guard: this very lease. Rows: 0 or 1.
UPDATE todo
SET state = 'pending', attempt = attempt - 1, holder_id = NULL, lease_token_hash = NULL,
    lease_expires_at_ms = NULL, ready_at_ms = available_at_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id AND state = 'claimed'
  AND holder_id = :endpoint_id AND lease_token_hash = :token_hash
RETURNING *
