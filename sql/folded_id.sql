-- The id of the one record of equal refusals of a minute: of that minute, and derived from what they have in common, so
-- that its primary key folds them.
CREATE OR REPLACE FUNCTION folded_id(of_key uuid, of_modality text, of_model text, error text, moment timestamptz)
RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT (left(first_id(date_trunc('minute', moment, 'UTC'))::text, 15) || substr(h, 1, 3) || '-8' || substr(h, 4, 3)
    || '-' || substr(h, 7, 12))::uuid
  FROM encode(sha256(convert_to(concat_ws(' ', of_key, of_modality, error, of_model), 'UTF8')), 'hex') AS h
$$;
COMMENT ON FUNCTION folded_id IS 'The id of the record that equal refusals of a minute share.';
