-- Give up a todo whose leases lapsed once too often. Guard: lapsed and at the cap. Rows: 0 or 1.
UPDATE todo
SET state = 'failed', lapses = lapses + 1, failure_reason = 'lapsed', holder_id = NULL,
    lease_token_hash = NULL, lease_expires_at_ms = NULL, ended_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND state = 'claimed' AND lease_expires_at_ms <= :now_ms
  AND lapses + 1 >= max_lapses
RETURNING *
