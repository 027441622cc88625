-- The holders of leases that still run, for rings that go to idle endpoints first.
SELECT DISTINCT holder_id FROM todo
WHERE lease_expires_at_ms > :now_ms AND workspace_id = :workspace_id
