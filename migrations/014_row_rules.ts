/**
 * The check constraints of the four tables that every call writes become one function each (see row-rules.ts). Every
 * rule stays as it was, under its name, and holds for every row that is written from here on.
 */
import type { Knex } from 'knex'
import { addRowRules, removeRowRules } from './row-rules.ts'
import type { RowRules } from './row-rules.ts'

/** The check constraints of earlier migrations, word for word; `r` is the row. */
export const ROW_RULES: RowRules = {
  accounts: {
    accounts_status_known: `r.status IN ('active', 'suspended')`,
    accounts_credits_not_negative: 'r.credits >= 0',
    accounts_credits_exact_in_javascript: 'r.credits <= 9007199254740991',
    accounts_debt_not_negative: 'r.debt >= 0',
    accounts_debt_exact_in_javascript: 'r.debt <= 9007199254740991',
    accounts_outstanding_not_negative: 'r.outstanding_calls >= 0',
    accounts_request_bytes_not_negative: 'r.request_bytes >= 0',
    accounts_deleted_are_suspended: `r.deleted_at IS NULL OR r.status = 'suspended'`,
    accounts_emptied_were_deleted: 'r.emptied_at IS NULL OR r.deleted_at IS NOT NULL',
    accounts_low_balance_positive: 'r.low_balance_below > 0',
    accounts_top_up_positive: 'r.top_up_below > 0',
    accounts_low_balance_state_known: `r.low_balance_state IN ('armed', 'due', 'done')`,
    accounts_top_up_state_known: `r.top_up_state IN ('armed', 'due', 'done')`,
    accounts_watch_only_what_is_set: `(r.low_balance_below IS NOT NULL OR r.low_balance_state = 'armed')
        AND (r.top_up_below IS NOT NULL OR r.top_up_state = 'armed')`,
  },
  grants: {
    grants_origin_known: `r.origin IN ('signup', 'purchase', 'bonus', 'adjustment')`,
    grants_amount_positive: 'r.amount BETWEEN 1 AND 1000000000000',
    grants_remaining_not_negative: 'r.remaining >= 0',
    grants_remaining_within_amount: 'r.remaining <= r.amount',
    grants_open_means_remaining: 'r.open = (r.remaining > 0)',
    grants_payment_gives_purchases: `r.payment_id IS NULL
        OR (r.origin IN ('purchase', 'bonus') AND r.expires_at IS NULL)`,
  },
  ledger_entries: {
    ledger_entries_seq_positive: 'r.seq > 0',
    ledger_entries_balance_not_negative: 'r.balance_after >= 0',
    ledger_entries_call_where_needed: `(r.kind IN ('charge', 'settlement', 'refund')) = (r.call_id IS NOT NULL)`,
    ledger_entries_deduction_where_needed: `(r.kind = 'adjustment') = (r.deduction_id IS NOT NULL)`,
    ledger_entries_payment_where_needed: `(r.kind IN ('reversal', 'reinstatement')) = (r.payment_id IS NOT NULL)`,
    ledger_entries_sign_of_kind: `CASE
        WHEN r.kind = ANY ('{grant,refund,reinstatement}'::text[]) THEN r.amount > 0
        WHEN r.kind = ANY ('{charge,expiry,adjustment,collection,reversal}'::text[]) THEN r.amount < 0
        WHEN r.kind = 'settlement' THEN r.amount <> 0
        ELSE false END`,
  },
  calls: {
    calls_modality_known: `r.modality IN ('chat', 'image', 'video')`,
    calls_status_known: `r.status IN ('queued', 'running', 'succeeded', 'failed', 'rejected')`,
    calls_precharge_not_negative: 'r.credits_precharged >= 0',
    calls_credits_not_negative: 'r.credits >= 0',
    calls_uncollected_not_negative: 'r.credits_uncollected >= 0',
    calls_tokens_not_negative: 'r.input_tokens >= 0 AND r.output_tokens >= 0',
    calls_cached_tokens_are_input: `r.cached_input_tokens >= 0 AND r.cache_write_tokens >= 0
        AND r.cached_input_tokens + r.cache_write_tokens <= r.input_tokens`,
    calls_repeated_tokens_were_written: 'r.repeated_input_tokens BETWEEN 0 AND r.cache_write_tokens',
    calls_cost_not_negative: 'r.cost_micro_usd >= 0',
    calls_failed_cost_nothing: `r.status NOT IN ('failed', 'rejected') OR r.credits = 0`,
    calls_rejected_were_not_charged: `r.status <> 'rejected' OR r.credits_precharged = 0`,
    calls_open_hold_their_charge: `r.status NOT IN ('queued', 'running') OR (r.credits = r.credits_precharged
        AND r.price IS NOT NULL AND r.lease_until IS NOT NULL AND r.deadline_at IS NOT NULL)`,
    calls_ended_are_complete: `(r.status IN ('queued', 'running')) = (r.finished_at IS NULL)
        AND (r.finished_at IS NULL) = (r.http_status IS NULL)`,
    calls_error_where_refused: `(r.status IN ('failed', 'rejected')) = (r.error_type IS NOT NULL)`,
    calls_idempotency_whole: `(r.idempotency_key IS NULL) = (r.idempotency_expires_at IS NULL)
        AND (r.idempotency_key IS NULL OR r.request_hash IS NOT NULL)`,
    calls_request_bytes_not_negative: 'r.request_bytes >= 0',
    calls_count_positive: 'r.count >= 1',
  },
}

export async function up(db: Knex): Promise<void> {
  await addRowRules(db, ROW_RULES)
  for (const [table, rules] of Object.entries(ROW_RULES)) {
    const drops = Object.keys(rules).map((name) => `DROP CONSTRAINT ${name}`)
    await db.raw(`ALTER TABLE ${table} ${drops.join(', ')}`)
  }
}

export async function down(db: Knex): Promise<void> {
  for (const [table, rules] of Object.entries(ROW_RULES)) {
    const checks = Object.entries(rules).map(
      ([name, rule]) => `ADD CONSTRAINT ${name} CHECK (${rule.replaceAll(/\br\./g, '')})`,
    )
    await db.raw(`ALTER TABLE ${table} ${checks.join(', ')}`)
  }
  await removeRowRules(db, ROW_RULES)
}
