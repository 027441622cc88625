-- The due todos of a queue, best first, for whoever must be told again. Rows: up to the limit.
SELECT id, workspace_id, queue, title, kind, source, NULL AS payload_json, payload_bytes, priority,
       state, attempt, failures, lapses, max_attempts, max_lapses, available_at_ms, ready_at_ms,
       assignee_id, holder_id, lease_expires_at_ms, NULL AS result_json, summary, failure_reason, trust,
       person_id, parent_id, idempotency_key, rings, created_at_ms, updated_at_ms, ended_at_ms
FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND ended_at_ms IS NULL
  AND state = 'pending' AND ready_at_ms <= :now_ms
ORDER BY priority DESC, ready_at_ms, id
LIMIT :limit
