-- The history of a todo, oldest first.
SELECT * FROM event WHERE todo_id = :todo_id ORDER BY seq
