-- Whether there is a workspace. Rows: 0 or 1.
SELECT id FROM workspace LIMIT 1
