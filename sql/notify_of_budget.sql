-- Notifies of a budget of which 80 or 100 percent is spent, in the statement that ends the call: by mails for the
-- highest mark that is passed, once per window, and by an event at 100 percent. What running calls hold is not spent.
-- The holder of a key is notified of its budget, a member and the admins of the member's; mails go to verified
-- addresses.
CREATE OR REPLACE FUNCTION notify_of_budget() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  spent bigint := NEW.used - NEW.held;
  mark integer;
BEGIN
  -- OLD is null for an INSERT.
  IF spent <= coalesce(OLD.used - OLD.held, 0) THEN RETURN NULL; END IF;
  INSERT INTO budget_notices (budget_id, starts_at, percent)
  SELECT NEW.budget_id, NEW.starts_at, p.percent
  FROM budgets b CROSS JOIN unnest(ARRAY[80, 100]) AS p (percent)
  WHERE b.id = NEW.budget_id AND b.credits > 0 AND spent::numeric * 100 >= b.credits::numeric * p.percent
  ON CONFLICT (budget_id, starts_at, percent) DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  mark := (SELECT max(n.percent) FROM budget_notices n WHERE n.budget_id = NEW.budget_id
    AND n.starts_at = NEW.starts_at);
  IF mark = 100 THEN
    PERFORM tell_webhooks(b.account_id, 'budget.exceeded', jsonb_build_object('budget', public_id('budget', b.id),
      b.scope, CASE b.scope WHEN 'key' THEN public_id('key', b.key_id) ELSE public_id('usr', b.user_id) END,
      'credits', b.credits, 'used', spent, 'startsAt', iso_time(NEW.starts_at)))
    FROM budgets b JOIN accounts acc ON acc.id = b.account_id AND acc.has_webhooks WHERE b.id = NEW.budget_id;
  END IF;
  INSERT INTO mails (id, kind, recipient, user_id, details)
  SELECT new_id(), 'budget', u.email, u.id,
    jsonb_build_object('budget', b.id, 'startsAt', NEW.starts_at, 'percent', mark)
  FROM budgets b JOIN members m ON m.account_id = b.account_id JOIN users u ON u.id = m.user_id
  WHERE b.id = NEW.budget_id AND u.email_verified_at IS NOT NULL
    AND (m.user_id = coalesce(b.user_id, (SELECT k.user_id FROM api_keys k WHERE k.id = b.key_id))
      OR b.scope = 'member' AND m.role IN ('owner', 'admin'));
  RETURN NULL;
END $$;

CREATE TRIGGER budget_windows_notify AFTER INSERT OR UPDATE OF used, held ON budget_windows
  FOR EACH ROW EXECUTE FUNCTION notify_of_budget();
COMMENT ON FUNCTION notify_of_budget IS 'Tells of a budget of which 80 or 100 percent is spent.';
