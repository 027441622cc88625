-- The last attempt at a todo. Rows: 0 or 1.
SELECT * FROM attempt WHERE todo_id = :todo_id ORDER BY number DESC LIMIT 1
