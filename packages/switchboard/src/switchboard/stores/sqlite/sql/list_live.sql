-- One queue of a list in one live state, or in both, newest first, without the JSON texts.
SELECT id, workspace_id, queue, title, kind, source, NULL AS payload_json, payload_bytes, priority,
       state, attempt, failures, lapses, max_attempts, max_lapses, available_at_ms, ready_at_ms,
       assignee_id, holder_id, lease_expires_at_ms, NULL AS result_json, summary, failure_reason, trust,
       person_id, parent_id, idempotency_key, rings, created_at_ms, updated_at_ms, ended_at_ms
FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND ended_at_ms IS NULL
  AND state IN (:state, :other_state) AND id < :before_id
ORDER BY id DESC
LIMIT :limit
