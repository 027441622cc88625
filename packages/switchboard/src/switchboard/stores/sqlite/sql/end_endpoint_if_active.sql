-- End an endpoint. Guard: active. Rows: 0 or 1.
UPDATE endpoint SET state = :state, ended_at_ms = :now_ms
WHERE id = :endpoint_id AND state = 'active'
RETURNING id
