-- Whether a partitioned table has a partition for a month (UTC): its own, or that of everything up to some month
-- (migrations/025_months.ts).
CREATE OR REPLACE FUNCTION has_month(parent text, month timestamp) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent::regclass AND (c.relname = parent || to_char(month, '_YYYY_MM')
      OR c.relname ~ '_until_' AND right(c.relname, 7) >= to_char(month, 'YYYY_MM')))
$$;
COMMENT ON FUNCTION has_month IS 'Whether a table has a partition for a month.';
