-- Work for an endpoint that has ended meanwhile is given up. Guard: pending, it ended. Rows: 0 or 1.
UPDATE todo
SET state = 'failed', failure_reason = 'endpoint_revoked', assignee_id = NULL,
    ended_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND state = 'pending'
  AND NOT EXISTS (SELECT 1 FROM endpoint AS e WHERE e.id = todo.assignee_id AND e.state = 'active')
RETURNING *
