-- Add a todo. Guard: the unique index over live keys. Rows: 0 or 1.
INSERT INTO todo (id, workspace_id, queue, title, kind, source, payload_json, payload_bytes, priority,
                  state, max_attempts, max_lapses, available_at_ms, ready_at_ms, assignee_id, trust,
                  person_id, parent_id, key_space, idempotency_key, created_at_ms, updated_at_ms)
VALUES (:id, :workspace_id, :queue, :title, :kind, :source, :payload_json, :payload_bytes, :priority,
        'pending', :max_attempts, :max_lapses, coalesce(:available_at_ms, :now_ms + :delay_ms),
        coalesce(:available_at_ms, :now_ms + :delay_ms), :assignee_id, :trust,
        :person_id, :parent_id, :key_space, :idempotency_key, :now_ms, :now_ms)
ON CONFLICT DO NOTHING
RETURNING *
