-- One todo of a workspace. Rows: 0 or 1.
SELECT * FROM todo WHERE id = :todo_id AND workspace_id = :workspace_id
