-- One workspace. Rows: 0 or 1.
SELECT * FROM workspace WHERE id = :workspace_id
