import { expect } from 'chai'
import { useDb } from './support/database.ts'

type Row = Record<string, unknown>

const ID = '0190c5a0-0000-7000-8000-000000000001'
const THEN = '2030-01-01'
const LATER = '2030-01-02'

const QUEUED = { status: 'queued', credits: 2, credits_precharged: 2, price: {}, lease_until: THEN, deadline_at: THEN }
const ENDED = { finished_at: THEN, http_status: 200 }
const SUCCEEDED = { ...QUEUED, ...ENDED, status: 'succeeded', credits: 1, input_tokens: 9 }
const FAILED = { ...QUEUED, ...ENDED, status: 'failed', credits: 0, error_type: 'other' }

/** What the rows of a table have in common. */
const COMMON: Record<string, Row> = {
  accounts: { id: ID },
  grants: { id: ID, account_id: ID, origin: 'signup', amount: 5, remaining: 5, open: true },
  ledger_entries: { account_id: ID, seq: 1, grant_id: ID, kind: 'grant', amount: 5, balance_after: 5 },
  calls: { id: ID, account_id: ID, key_id: ID, user_id: ID, modality: 'chat', model: 'm' },
}

/** Rows that keep every rule. */
const GOOD: Record<string, Row[]> = {
  accounts: [
    {},
    { credits: '9007199254740991', debt: '9007199254740991' },
    { status: 'suspended', deleted_at: THEN, emptied_at: THEN },
    { kind: 'organisation', name: 'Team' },
    { low_balance_below: 1, low_balance_state: 'due', top_up_below: 1, top_up_state: 'done' },
    { top_up_below: 1, top_up_state: 'due', top_up_for: 2 },
    { rate_limit: 1, max_outstanding: 1, tokens_per_minute: 1, token_window_at: THEN, token_window_used: 2 },
  ],
  grants: [
    { expires_at: THEN, revived_until: LATER },
    { origin: 'bonus', payment_id: ID, remaining: 0, open: false },
    { origin: 'adjustment', amount: '1000000000000' },
  ],
  ledger_entries: [
    {},
    { kind: 'charge', amount: -5, call_id: ID },
    { kind: 'settlement', amount: -5, call_id: ID },
    { kind: 'refund', call_id: ID },
    { kind: 'reversal', amount: -5, payment_id: ID },
    { kind: 'reinstatement', payment_id: ID },
    { kind: 'adjustment', amount: -5, deduction_id: ID },
    { kind: 'collection', amount: -5 },
  ],
  calls: [
    QUEUED,
    { ...QUEUED, dialect: 'messages' },
    SUCCEEDED,
    FAILED,
    { ...FAILED, status: 'rejected', credits_precharged: 0 },
    { ...SUCCEEDED, credits_precharged: 4, credits: 5, credits_uncollected: 3 },
    { ...SUCCEEDED, cached_input_tokens: 4, cache_write_tokens: 5, repeated_input_tokens: 5 },
    { ...QUEUED, idempotency_key: 'k', idempotency_expires_at: THEN, request_hash: '\\x00' },
  ],
}

/** Rows that break one rule, by the rule's name. */
const BAD: Record<string, Record<string, Row[]>> = {
  accounts: {
    accounts_status_known: [{ status: 'closed' }],
    accounts_outstanding_not_negative: [{ outstanding_calls: -1 }],
    accounts_deleted_are_suspended: [{ deleted_at: THEN }],
    accounts_emptied_were_deleted: [{ emptied_at: THEN }],
    accounts_kind_known: [{ kind: 'other', name: '' }],
    accounts_name_length: [{ kind: 'organisation', name: 'x'.repeat(61) }],
    accounts_organisations_are_named: [{ kind: 'organisation' }, { name: 'Team' }],
    accounts_group_name_length: [{ group_name: '' }, { group_name: 'x'.repeat(51) }],
    accounts_rate_limit_positive: [{ rate_limit: 0 }],
    accounts_max_outstanding_positive: [{ max_outstanding: 0 }],
    accounts_tokens_per_minute_positive: [{ tokens_per_minute: 0 }],
    accounts_tokens_counted_where_limited: [{ token_window_at: THEN }, { tokens_per_minute: 1, token_window_used: 1 }],
    accounts_low_balance_positive: [{ low_balance_below: 0 }],
    accounts_top_up_positive: [{ top_up_below: 0 }],
    accounts_low_balance_state_known: [{ low_balance_below: 1, low_balance_state: 'other' }],
    accounts_top_up_state_known: [{ top_up_below: 1, top_up_state: 'other' }],
    accounts_watch_only_what_is_set: [{ low_balance_state: 'due' }, { top_up_state: 'done' }],
    accounts_demand_only_a_due_top_up: [{ top_up_for: 2 }, { top_up_below: 1, top_up_state: 'done', top_up_for: 2 }],
    credits_not_negative: [{ credits: -1 }, { debt: -1 }, { held: -1 }],
    credits_exact_in_javascript: [{ credits: '9007199254740992' }, { debt: '9007199254740992' }],
    quantity_not_negative: [{ request_bytes: -1 }, { tokens_per_minute: 1, token_window_used: -1 }],
  },
  grants: {
    grants_origin_known: [{ origin: 'theft' }],
    grants_amount_positive: [{ amount: '1000000000001' }],
    grants_remaining_within_amount: [{ remaining: 6 }],
    grants_open_means_remaining: [{ remaining: 0 }, { open: false }],
    grants_payment_gives_purchases: [{ payment_id: ID }, { origin: 'purchase', payment_id: ID, expires_at: THEN }],
    grants_revived_once_expired: [{ revived_until: THEN }, { expires_at: THEN, revived_until: THEN }],
    credits_not_negative: [{ amount: -1 }, { remaining: -1 }],
  },
  ledger_entries: {
    ledger_entries_seq_positive: [{ seq: 0 }],
    ledger_entries_call_where_needed: [
      ...['expiry', 'collection'].map((kind) => ({ kind, amount: -5, call_id: ID })),
      { kind: 'adjustment', amount: -5, call_id: ID, deduction_id: ID },
      { call_id: ID },
      { kind: 'charge', amount: -5 },
      { kind: 'settlement', amount: -5 },
      { kind: 'refund' },
    ],
    ledger_entries_deduction_where_needed: [{ deduction_id: ID }, { kind: 'adjustment', amount: -5 }],
    ledger_entries_payment_where_needed: [{ payment_id: ID }, { kind: 'reversal', amount: -5 }],
    ledger_entries_sign_of_kind: [
      { amount: 0 },
      { amount: -5 },
      { kind: 'gift' },
      { kind: 'charge', call_id: ID },
      { kind: 'settlement', call_id: ID, amount: 0 },
      { kind: 'expiry' },
      { kind: 'collection' },
      { kind: 'reversal', payment_id: ID },
      { kind: 'reinstatement', payment_id: ID, amount: -5 },
    ],
    credits_not_negative: [{ balance_after: -1 }],
  },
  calls: {
    modality_known: [{ ...QUEUED, modality: 'song' }],
    calls_dialect_known: [
      { ...QUEUED, dialect: 'other' },
      { ...QUEUED, modality: 'image', dialect: 'messages' },
    ],
    calls_status_known: [{ ...SUCCEEDED, status: 'lost' }],
    calls_cached_tokens_are_input: [{ ...SUCCEEDED, cached_input_tokens: 5, cache_write_tokens: 5 }],
    calls_repeated_tokens_were_written: [{ ...SUCCEEDED, cache_write_tokens: 1, repeated_input_tokens: 2 }],
    calls_failed_cost_nothing: [{ ...FAILED, credits: 1 }],
    calls_rejected_were_not_charged: [{ ...FAILED, status: 'rejected' }],
    calls_open_hold_their_charge: [
      { ...QUEUED, credits: 1 },
      { ...QUEUED, status: 'running', price: null },
      { ...QUEUED, lease_until: null },
      { ...QUEUED, deadline_at: null },
    ],
    calls_ended_are_complete: [
      { ...QUEUED, finished_at: THEN, http_status: 200 },
      { ...SUCCEEDED, http_status: null },
    ],
    calls_error_where_refused: [
      { ...SUCCEEDED, error_type: 'other' },
      { ...FAILED, error_type: null },
    ],
    calls_idempotency_whole: [
      { ...QUEUED, idempotency_key: 'k', idempotency_expires_at: THEN },
      { ...QUEUED, idempotency_key: 'k', request_hash: '\\x00' },
    ],
    calls_progress_in_percent: [
      { ...QUEUED, progress: -1 },
      { ...QUEUED, progress: 101 },
    ],
    calls_deleted_are_videos: [{ ...QUEUED, deleted_at: THEN }],
    calls_count_positive: [{ ...QUEUED, count: 0 }],
    calls_callback_url_length: [{ ...QUEUED, callback_url: 'u'.repeat(2049) }],
    calls_cost_within_twice_the_charge: [
      { ...SUCCEEDED, credits_precharged: 4, credits: 9 },
      { ...SUCCEEDED, credits_precharged: 4, credits: 4, credits_uncollected: 5 },
    ],
    calls_pictures_were_delivered: [
      { ...SUCCEEDED, modality: 'video', pictures: 1 },
      { ...SUCCEEDED, modality: 'image', pictures: 0 },
      { ...QUEUED, modality: 'image', pictures: 1 },
      { ...SUCCEEDED, modality: 'image', pictures: 1, credits_precharged: 4, credits: 5 },
    ],
    calls_more_results_of_pictures: [
      { ...SUCCEEDED, more_result_urls: ['https://example.com/b.png'] },
      { ...SUCCEEDED, modality: 'image', pictures: 1, more_result_urls: ['https://example.com/b.png'] },
    ],
    credits_not_negative: [
      { ...SUCCEEDED, credits: -1 },
      { ...SUCCEEDED, credits_precharged: -1 },
      { ...SUCCEEDED, credits_uncollected: -1 },
    ],
    quantity_not_negative: [
      { ...SUCCEEDED, input_tokens: -1 },
      { ...SUCCEEDED, output_tokens: -1 },
      { ...SUCCEEDED, cached_input_tokens: -1 },
      { ...SUCCEEDED, cache_write_tokens: -1 },
      { ...SUCCEEDED, cost_micro_usd: -1 },
      { ...SUCCEEDED, request_bytes: -1 },
    ],
  },
}

describe('the rules of a row', () => {
  const db = useDb({ pool: 1 })

  /** The rule that a row breaks by itself, in a copy of the table that has no keys and no triggers; null: none. */
  async function brokenBy(table: string, row: Row): Promise<string | null> {
    try {
      await db.transaction(async (trx) => {
        await trx.raw('CREATE TEMPORARY TABLE made (LIKE ?? INCLUDING DEFAULTS INCLUDING CONSTRAINTS) ON COMMIT DROP', [
          table,
        ])
        await trx('made').insert({ ...COMMON[table], ...row })
      })
      return null
    } catch (error) {
      const { constraint } = error as { constraint?: string }
      if (constraint === undefined) throw error
      return constraint
    }
  }

  for (const [table, rules] of Object.entries(BAD)) {
    it(`of ${table} refuse what breaks one of them, by its name, and nothing else`, async () => {
      for (const row of GOOD[table]!) expect(await brokenBy(table, row), JSON.stringify(row)).to.equal(null)
      for (const [rule, rows] of Object.entries(rules)) {
        for (const row of rows) expect(await brokenBy(table, row), JSON.stringify(row)).to.equal(rule)
      }
    })

    it(`of ${table} are each broken here`, async () => {
      const { rows } = await db.raw<{ rows: { name: string }[] }>(
        `SELECT name[1] FROM regexp_matches(obj_description(?::regproc), 'CONSTRAINT (\\w+)', 'g') AS name`,
        [`${table}_rules`],
      )
      expect(Object.keys(rules)).to.include.members(rows.map(({ name }) => name))
    })
  }
})
