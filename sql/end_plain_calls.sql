-- What processes of the release before call: end_usual_calls, where each begin was written.
CREATE OR REPLACE FUNCTION end_plain_calls(
  outputs text[], ids uuid[], statuses text[], costs bigint[], attempts_of integer[],
  from_statuses text[], overdues boolean[], http_statuses integer[], error_types text[], inputs bigint[],
  cached_inputs bigint[], cache_writes bigint[], repeated_inputs bigint[], output_counts bigint[],
  costs_micro_usd bigint[], upstreams text[], result_urls text[], result_seconds integer
)
RETURNS TABLE (id uuid, account_id uuid, status text, credits bigint, uncollected bigint, balance bigint,
  latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint,
  running_ms bigint)
LANGUAGE sql AS $$
  SELECT * FROM end_usual_calls(outputs, ids, statuses, costs, attempts_of, from_statuses, overdues, http_statuses,
    error_types, inputs, cached_inputs, cache_writes, repeated_inputs, output_counts, costs_micro_usd, upstreams,
    result_urls, result_seconds, '{}', '{}')
$$;
COMMENT ON FUNCTION end_plain_calls IS 'Settles or refunds calls: end_usual_calls, for the release before.';
