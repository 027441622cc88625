-- Pending todos that time made ready since the last look; updated_at_ms tells them from those that
-- were written as ready. Rows: up to the limit.
SELECT id, workspace_id, queue, title, kind, source, NULL AS payload_json, payload_bytes, priority,
       state, attempt, failures, lapses, max_attempts, max_lapses, available_at_ms, ready_at_ms,
       assignee_id, holder_id, lease_expires_at_ms, NULL AS result_json, summary, failure_reason, trust,
       person_id, parent_id, idempotency_key, rings, created_at_ms, updated_at_ms, ended_at_ms
FROM todo
WHERE state = 'pending' AND available_at_ms > :after_ms AND available_at_ms <= :now_ms
  AND updated_at_ms < available_at_ms
ORDER BY available_at_ms
LIMIT :limit
