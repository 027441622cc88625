-- One person. Rows: 0 or 1.
SELECT * FROM person WHERE id = :person_id
