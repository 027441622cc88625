-- How often one holder has claimed a todo. Rows: 1.
SELECT count(*) AS attempts FROM attempt WHERE todo_id = :todo_id AND holder_id = :holder_id
