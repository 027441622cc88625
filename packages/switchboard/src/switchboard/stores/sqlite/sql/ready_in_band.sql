-- The first ready todos of one lane and priority. Rows: up to the limit.
SELECT * FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND assignee_id IS :assignee_id
  AND ended_at_ms IS NULL AND priority = :priority AND ready_at_ms <= :now_ms
ORDER BY ready_at_ms, id
LIMIT :limit
