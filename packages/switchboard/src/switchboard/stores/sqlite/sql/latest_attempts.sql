-- The latest attempts at a todo, newest first.
SELECT * FROM attempt WHERE todo_id = :todo_id ORDER BY number DESC LIMIT :limit
