-- Writes an event for every webhook of an account, or of the operators (null), that wants its type, in the transaction
-- of its cause. Callers check accounts.has_webhooks first, where the row is at hand. A webhook that is being deleted
-- is waited for, and gets nothing once it is gone: the cause must not fail on it.
CREATE OR REPLACE FUNCTION tell_webhooks(told uuid, event_type text, data jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body)
  SELECT new_id(), w.id, event.id, event_type, event.body
  FROM webhooks w
  CROSS JOIN (SELECT new_id() AS id, json_build_object('type', event_type, 'timestamp', iso_time(clock_timestamp()),
    'data', data)::text AS body OFFSET 0) event
  WHERE w.account_id IS NOT DISTINCT FROM told AND w.url IS NOT NULL AND w.disabled_at IS NULL
    AND event_type = ANY (w.types)
  FOR KEY SHARE OF w
$$;
COMMENT ON FUNCTION tell_webhooks IS 'Writes an event for the webhooks of an account, or of the operators.';
