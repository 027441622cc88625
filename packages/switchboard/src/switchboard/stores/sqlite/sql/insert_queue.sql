-- Make a queue unless it is there.
INSERT INTO queue (workspace_id, name, created_at_ms) VALUES (:workspace_id, :name, :now_ms)
ON CONFLICT DO NOTHING
