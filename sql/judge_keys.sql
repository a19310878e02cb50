-- Judges the keys of a batch of requests by their limits: whether a key may make this call at all ("refusal"), and
-- whether its budget and its limit of open calls allow it ("fate"). A row for each request; null: nothing against it.
-- open_calls asks this while it holds the accounts' rows, for accounts that limit a key; whoever changes a limit holds
-- that row too.
--
-- A request counts for those of its key that come after it in the batch, whether it will be opened or not. Where that
-- alone is against a call, it has to be tried alone.
CREATE OR REPLACE FUNCTION judge_keys(requests jsonb, keys uuid[], moment timestamptz)
RETURNS TABLE (place bigint, refusal text, fate text)
LANGUAGE sql STABLE SET plan_cache_mode = force_generic_plan AS $$
  SELECT r.place,
    CASE
      WHEN k.expires_at <= moment THEN 'unauthorized'
      -- The secret before the last rotation is good as long as its grace. Processes of the release before name none; 0
      -- is that of a key that was remembered, which open_calls itself judges.
      WHEN r.secret_version <> k.secret_version AND r.secret_version <> 0
        AND (r.secret_version = k.secret_version - 1 AND k.previous_until > moment) IS NOT TRUE THEN 'unauthorized'
      WHEN k.allowed_ips IS NOT NULL AND (r.address <<= ANY (k.allowed_ips)) IS NOT TRUE THEN 'ip_not_allowed'
      WHEN r.model <> ALL (k.models) OR r.modality <> ALL (k.modalities) THEN 'model_not_allowed'
    END,
    CASE
      WHEN k.outstanding_calls >= k.max_outstanding THEN 'too_many_calls_of_key'
      -- A budget of 0 allows nothing, not even a call that costs nothing.
      WHEN b.credits = 0 OR coalesce(w.used, 0) + r.amount > b.credits THEN 'key_budget_exceeded'
      WHEN k.outstanding_calls + r.nth > k.max_outstanding OR coalesce(w.used, 0) + r.upto > b.credits THEN 'try_alone'
    END
  FROM (
    SELECT r.*, row_number() OVER of_key AS nth, sum(r.amount) OVER of_key AS upto
    FROM ROWS FROM (jsonb_to_recordset(requests) AS (
      key_id uuid, modality text, model text, amount bigint, address inet, secret_version integer
    )) WITH ORDINALITY AS r (key_id, modality, model, amount, address, secret_version, place)
    WINDOW of_key AS (PARTITION BY r.key_id ORDER BY r.place)
  ) r
  LEFT JOIN api_keys k ON k.id = r.key_id AND k.id = ANY (keys)
  LEFT JOIN budgets b ON b.key_id = k.id AND b.key_id = ANY (keys)
  LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at = budget_window(b.period, moment)
$$;
COMMENT ON FUNCTION judge_keys IS 'Judges requests by the limits of their keys, a row for each in its place.';
