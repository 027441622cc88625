-- The next lower priority that a lane has live todos of. Rows: 1, NULL at the end.
SELECT max(priority) AS priority FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND assignee_id IS :assignee_id
  AND ended_at_ms IS NULL AND priority < :below
