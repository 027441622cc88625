-- Names of the paused queues of a workspace.
SELECT name FROM queue WHERE workspace_id = :workspace_id AND paused = 1
