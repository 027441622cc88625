-- When the next todo of one lane and priority comes due. Rows: 1, NULL if none.
SELECT min(ready_at_ms) AS at_ms FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND assignee_id IS :assignee_id
  AND ended_at_ms IS NULL AND priority = :priority AND ready_at_ms > :now_ms
