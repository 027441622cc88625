-- Make a workspace.
INSERT INTO workspace (id, name, created_at_ms) VALUES (:id, :name, :now_ms)
