-- Make a person.
INSERT INTO person (id, name, created_at_ms) VALUES (:id, :name, :now_ms)
