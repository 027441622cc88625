-- Give a dead letter another life; one kept for an endpoint that ended is now for anybody.
-- Guard: failed. Rows: 0 or 1.
UPDATE OR IGNORE todo
SET state = 'pending', failures = 0, lapses = 0, rings = 0, failure_reason = NULL, ended_at_ms = NULL,
    assignee_id = (SELECT e.id FROM endpoint AS e
                   WHERE e.id = todo.assignee_id AND e.state = 'active'),
    available_at_ms = :now_ms, ready_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND workspace_id = :workspace_id AND state = 'failed'
RETURNING *
