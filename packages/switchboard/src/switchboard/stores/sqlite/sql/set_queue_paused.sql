-- Pause or resume a queue. Rows: 0 or 1.
UPDATE queue SET paused = :paused WHERE workspace_id = :workspace_id AND name = :name
RETURNING *
