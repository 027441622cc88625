-- Write one line of history.
INSERT INTO event (workspace_id, todo_id, at_ms, step, actor_kind, actor_id, actor_name,
                   from_state, to_state, attempt, detail)
VALUES (:workspace_id, :todo_id, :now_ms, :step, :actor_kind, :actor_id, :actor_name,
        :from_state, :to_state, :attempt, :detail)
