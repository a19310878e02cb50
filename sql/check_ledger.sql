-- The tie between ledger and calls, checked once a statement of any size. Together with the unique index it
-- refuses a second charge, a second settlement or refund, a refund above the charge of its grant, and an entry of a
-- call that does not exist, belongs to another account, or did not end that way.
CREATE OR REPLACE FUNCTION check_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched uuid[];
  broken uuid;
  -- Bounds of the calls, and of their entries: see open_calls.sql.
  lowest uuid;
  greatest_id uuid;
  entries_from uuid;
  soon constant uuid := first_id(clock_timestamp() + interval '1 day');
BEGIN
  SELECT array_agg(call_id ORDER BY call_id) INTO touched FROM inserted HAVING count(*) = count(call_id);
  lowest := touched[1];
  greatest_id := touched[cardinality(touched)];
  entries_from := first_id(accepted_at(lowest) - interval '1 day');
  -- All rules in one query: they are checked one by one only where an entry breaks any of them, to name it.
  IF touched IS NOT NULL AND NOT EXISTS (
    SELECT FROM (
      SELECT entry.call_id, sum(entry.amount)::bigint AS amount,
        (sum(entry.amount) FILTER (WHERE entry.kind = 'charge'))::bigint AS charged,
        max(call.credits) AS credits, max(call.credits_precharged) AS precharged,
        bool_or(g.id IS NULL OR call.id IS NULL OR entry.account_id <> call.account_id
          OR entry.kind = 'refund' AND call.status <> 'failed'
          OR entry.kind = 'settlement' AND call.status <> 'succeeded') AS is_wrong
      FROM ledger_entries entry LEFT JOIN calls call ON call.id = entry.call_id AND call.id = ANY (touched)
        AND call.id BETWEEN lowest AND greatest_id
      LEFT JOIN grants g ON g.id = entry.grant_id AND g.account_id = entry.account_id
      WHERE entry.call_id = ANY (touched) AND entry.id BETWEEN entries_from AND soon
      GROUP BY entry.call_id, entry.grant_id
    ) part
    GROUP BY part.call_id
    HAVING bool_or(part.is_wrong OR part.amount > 0) OR sum(part.amount) <> -max(part.credits)
      OR sum(part.charged) IS DISTINCT FROM -max(part.precharged) AND max(part.precharged) > 0
  ) THEN RETURN NULL;
  END IF;

  touched := ARRAY(SELECT DISTINCT call_id FROM inserted WHERE call_id IS NOT NULL);
  IF EXISTS (SELECT 1 FROM inserted entry LEFT JOIN grants g ON g.id = entry.grant_id
    AND g.account_id = entry.account_id WHERE g.id IS NULL) THEN
    RAISE EXCEPTION 'a ledger entry names a grant of another account'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_grant_of_the_account';
  END IF;
  IF touched = '{}' THEN RETURN NULL; END IF;
  SELECT entry.call_id INTO broken
  FROM ledger_entries entry LEFT JOIN calls call ON call.id = entry.call_id AND call.id = ANY (touched)
  WHERE entry.call_id = ANY (touched)
  GROUP BY entry.call_id, call.id
  HAVING call.id IS NULL
    OR sum(entry.amount) <> -call.credits
    OR sum(entry.amount) FILTER (WHERE entry.kind = 'charge') IS DISTINCT FROM -call.credits_precharged
       AND call.credits_precharged > 0
    OR bool_or(entry.account_id <> call.account_id)
    OR bool_or(entry.kind = 'refund' AND call.status <> 'failed')
    OR bool_or(entry.kind = 'settlement' AND call.status <> 'succeeded')
  LIMIT 1;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'ledger entries of call % do not match it', broken
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_match_calls';
  END IF;
  SELECT entry.call_id INTO broken
  FROM ledger_entries entry
  WHERE entry.call_id = ANY (touched)
  GROUP BY entry.call_id, entry.grant_id
  HAVING sum(entry.amount) > 0
  LIMIT 1;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'call % gives a grant more than it took from it', broken
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_return_at_most_the_charge';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER ledger_entries_match_calls AFTER INSERT ON ledger_entries
  REFERENCING NEW TABLE AS inserted
  FOR EACH STATEMENT EXECUTE FUNCTION check_ledger();
COMMENT ON FUNCTION check_ledger
  IS 'Refuses ledger entries that do not match their call, or name a grant of another account.';
