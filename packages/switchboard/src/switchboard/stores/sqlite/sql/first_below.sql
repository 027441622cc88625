-- What a lane would hand out first below a priority, ready or not; nothing from a paused queue. Rows: 0 or 1.
SELECT id, state, lapses, max_lapses, priority, ready_at_ms FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND assignee_id IS :assignee_id
  AND ended_at_ms IS NULL AND priority < :below
  AND NOT EXISTS (SELECT 1 FROM queue AS q
                  WHERE q.workspace_id = :workspace_id AND q.name = :queue AND q.paused = 1)
ORDER BY priority DESC, ready_at_ms, id
LIMIT 1
