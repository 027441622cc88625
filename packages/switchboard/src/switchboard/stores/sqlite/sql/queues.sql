-- All queues of a workspace by name.
SELECT * FROM queue WHERE workspace_id = :workspace_id ORDER BY name
