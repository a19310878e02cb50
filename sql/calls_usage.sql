-- The calls that ended from a moment on and before another, added up as usage_hours has them. The model of a refused
-- call is any text that a client sent: it is left out, so that no client can fill the table.
CREATE OR REPLACE FUNCTION calls_usage(since timestamptz, upto timestamptz) RETURNS SETOF usage_hours
LANGUAGE sql STABLE AS $$
  SELECT c.account_id, date_trunc('hour', accepted_at(c.id), 'UTC'), c.user_id, c.key_id,
    CASE c.status WHEN 'rejected' THEN '' ELSE c.model END, c.modality, coalesce(c.upstream, ''),
    coalesce(c.group_name, ''),
    count(*) FILTER (WHERE c.status <> 'rejected'), count(*) FILTER (WHERE c.status = 'succeeded'),
    count(*) FILTER (WHERE c.status = 'failed'),
    coalesce(sum(c.count - c.counted) FILTER (WHERE c.status = 'rejected'), 0),
    coalesce(sum(c.input_tokens), 0)::bigint, coalesce(sum(c.cached_input_tokens), 0)::bigint,
    coalesce(sum(c.cache_write_tokens), 0)::bigint, coalesce(sum(c.output_tokens), 0)::bigint,
    coalesce(sum(c.pictures), 0)::bigint, coalesce(sum(c.seconds), 0), sum(c.credits)::bigint,
    sum(c.credits_uncollected)::bigint, coalesce(sum(c.cost_micro_usd), 0)::bigint,
    count(*) FILTER (WHERE c.status <> 'rejected' AND c.cost_micro_usd IS NULL),
    coalesce(sum(c.latency_ms) FILTER (WHERE c.status = 'succeeded'), 0)::bigint
  FROM calls c WHERE c.finished_at >= since AND c.finished_at < upto
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
$$;
COMMENT ON FUNCTION calls_usage IS 'The usage of the calls that ended in a time.';
