-- The key under which a claim may be asked for again.
ALTER TABLE todo ADD COLUMN claim_key TEXT;

-- serves live_claim_by_key
CREATE INDEX todo_claim_key ON todo (holder_id, claim_key)
    WHERE claim_key IS NOT NULL AND ended_at_ms IS NULL;
