-- A read that touches the file. Rows: 1.
SELECT count(*) AS workspaces FROM workspace
