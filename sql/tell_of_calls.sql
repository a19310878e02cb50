-- Writes the events of calls that have ended: to the webhooks of their accounts, of images, videos and what nobody
-- waits for, and of other chats where a webhook wants "chat", as it must for free calls; and to the address that a call
-- itself named, signed with the account's callback secret. A webhook that is being deleted is waited
-- for, as in tell_webhooks.
CREATE OR REPLACE FUNCTION tell_of_calls(ended uuid[]) RETURNS void LANGUAGE sql AS $$
  WITH events AS MATERIALIZED (
    SELECT new_id() AS id, c.account_id, 'call.' || c.status AS type, c.callback_url, c.modality,
      c.modality IN ('image', 'video') OR c.is_async AS is_awaited_elsewhere, c.credits_precharged = 0 AS is_free,
      json_build_object('type', 'call.' || c.status, 'timestamp', iso_time(c.finished_at), 'data', json_build_object(
        'call', public_id('call', c.id), 'status', c.status, 'model', c.model, 'modality', c.modality,
        'pictures', c.pictures, 'credits', c.credits, 'balance', c.balance_after, 'error', c.error_type))::text AS body
    FROM calls c JOIN accounts acc ON acc.id = c.account_id AND acc.has_webhooks
    WHERE c.id = ANY (ended) AND c.id >= (SELECT e.id FROM unnest(ended) AS e (id) ORDER BY 1 LIMIT 1)
      AND c.id <= (SELECT e.id FROM unnest(ended) AS e (id) ORDER BY 1 DESC LIMIT 1)
      AND c.status IN ('succeeded', 'failed')
  )
  INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, url, body)
  SELECT new_id(), w.id, e.id, e.type, CASE WHEN w.url IS NULL THEN e.callback_url END, e.body
  FROM events e JOIN webhooks w ON w.account_id = e.account_id AND w.disabled_at IS NULL
  WHERE CASE WHEN w.url IS NULL THEN e.callback_url IS NOT NULL
    ELSE e.type = ANY (w.types) AND CASE WHEN 'chat' = ANY (w.types) THEN e.is_awaited_elsewhere OR e.modality = 'chat'
      ELSE e.is_awaited_elsewhere AND NOT e.is_free END END
  FOR KEY SHARE OF w
$$;
COMMENT ON FUNCTION tell_of_calls IS 'Writes the events of calls that have ended.';
