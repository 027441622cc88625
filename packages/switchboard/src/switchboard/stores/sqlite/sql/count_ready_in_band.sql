-- How many todos of one lane and priority are ready. Rows: 1.
SELECT count(*) AS ready FROM todo
WHERE workspace_id = :workspace_id AND queue = :queue AND assignee_id IS :assignee_id
  AND ended_at_ms IS NULL AND priority = :priority AND ready_at_ms <= :now_ms
