-- Keep the hash of an operator token.
INSERT INTO operator_token (id, workspace_id, person_id, name, role, hash, created_at_ms)
VALUES (:id, :workspace_id, :person_id, :name, :role, :hash, :now_ms)
