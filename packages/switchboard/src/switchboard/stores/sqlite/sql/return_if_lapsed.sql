-- Give a lapsed todo back; its holder may still finish it. Guard: lapsed, below the cap. Rows: 0 or 1.
UPDATE todo
SET state = 'pending', lapses = lapses + 1, lease_expires_at_ms = NULL,
    available_at_ms = :now_ms, ready_at_ms = :now_ms, updated_at_ms = :now_ms
WHERE id = :todo_id AND state = 'claimed' AND lease_expires_at_ms <= :now_ms
  AND lapses + 1 < max_lapses
RETURNING *
