-- The calls that have not ended, added up as usage_hours has them: how many they are, and the credits that they hold.
CREATE OR REPLACE FUNCTION open_usage() RETURNS SETOF usage_hours LANGUAGE sql STABLE AS $$
  SELECT c.account_id, date_trunc('hour', accepted_at(c.id), 'UTC'), c.user_id, c.key_id, c.model, c.modality,
    coalesce(c.upstream, ''), coalesce(c.group_name, ''), count(*), 0::bigint, 0::bigint, 0::bigint, 0::bigint,
    0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::numeric, sum(c.credits)::bigint, 0::bigint, 0::bigint, 0::bigint,
    0::bigint
  FROM calls c WHERE c.finished_at IS NULL
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
$$;
COMMENT ON FUNCTION open_usage IS 'The usage of calls that have not ended.';
