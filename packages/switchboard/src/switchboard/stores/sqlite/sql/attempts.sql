-- All attempts at a todo, oldest first.
SELECT * FROM attempt WHERE todo_id = :todo_id ORDER BY number
