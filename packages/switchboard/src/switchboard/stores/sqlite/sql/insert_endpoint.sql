-- Vend an endpoint.
INSERT INTO endpoint (id, workspace_id, slug, agent, queues, verbs, protocol, lease_ms, state,
                      created_at_ms, expires_at_ms)
VALUES (:id, :workspace_id, :slug, :agent, :queues, :verbs, :protocol, :lease_ms, 'active',
        :now_ms, :now_ms + :lifetime_ms)
