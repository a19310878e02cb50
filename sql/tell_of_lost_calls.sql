-- Notifies the operators of calls that the reconciler has found and refunded, because no process was working on them.
CREATE OR REPLACE FUNCTION tell_of_lost_calls(lost uuid[]) RETURNS void LANGUAGE sql AS $$
  SELECT tell_webhooks(NULL, 'reconciler.refunded', jsonb_build_object('call', public_id('call', c.id),
    'account', public_id('acc', c.account_id), 'status', c.status, 'model', c.model, 'modality', c.modality,
    'refunded', c.credits_precharged, 'error', c.error_type))
  FROM calls c WHERE c.id = ANY (lost)
$$;
COMMENT ON FUNCTION tell_of_lost_calls IS 'Tells the operators of calls that the reconciler has refunded.';
