import type { Mutant } from './mutant.ts'
import { MOMENTS, SCHEDULES, VERBS, DEBTS, BATCHES, PRICING, PRECHARGE, SAME_BOOKS, KEY_LIMITS } from './judges.ts'

const OPEN_SQL = 'sql/open_calls.sql'
const OPEN_PLAIN_SQL = 'sql/open_plain_calls.sql'
const OPEN_ONE_SQL = 'sql/open_one_call.sql'
const LOTS_SQL = 'sql/spendable_lots.sql'

/** Bugs in what a call is charged: lots, batches, bounds, grants, the estimate. */
export const CHARGING: readonly Mutant[] = [
  {
    name: 'check, then spend',
    why: 'Without the lock on the account two requests see one balance.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'ANY (account_ids) ORDER BY acc.id FOR NO KEY UPDATE',
        replace: 'ANY (account_ids)',
      },
      {
        file: OPEN_PLAIN_SQL,
        find: 'ANY (accounts_of) ORDER BY acc.id FOR NO KEY UPDATE',
        replace: 'ANY (accounts_of) ORDER BY acc.id',
      },
      {
        file: OPEN_ONE_SQL,
        find: 'WHERE acc.id = new_account FOR NO KEY UPDATE',
        replace: 'WHERE acc.id = new_account',
      },
    ],
    tests: [SCHEDULES, VERBS, BATCHES],
  },
  {
    name: 'the rules of a row let a balance be negative',
    why: 'The last guard of a balance is the database itself.',
    edits: [
      {
        file: 'migrations/014_row_rules.ts',
        find: "accounts_credits_not_negative: 'r.credits >= 0'",
        replace: "accounts_credits_not_negative: 'r.credits >= -1'",
      },
    ],
    tests: ['test/row-rules.test.ts', 'test/shared/ledger/constraints.test.ts'],
  },
  {
    name: 'expired lots can be spent',
    why: 'An expired grant pays for nothing from that moment.',
    edits: [
      { file: LOTS_SQL, find: 'AND g.open AND (g.expires_at IS NULL OR g.expires_at > now())', replace: 'AND g.open' },
    ],
    tests: [VERBS],
  },
  {
    name: 'the lot that expires last burns first',
    why: 'Charges take what expires first.',
    edits: [{ file: LOTS_SQL, find: 'ORDER BY g.expires_at', replace: 'ORDER BY g.expires_at DESC' }],
    tests: [VERBS],
  },
  {
    name: 'the order of an account is lost in a batch',
    why: 'Requests of one account are charged in the order in which they came.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'WINDOW account_order AS (PARTITION BY c.account_id ORDER BY c.place)',
        replace: 'WINDOW account_order AS (PARTITION BY c.account_id ORDER BY c.place DESC)',
      },
      {
        file: OPEN_PLAIN_SQL,
        find: 'WINDOW in_order AS (PARTITION BY r.holder ORDER BY r.place)',
        replace: 'WINDOW in_order AS (PARTITION BY r.holder ORDER BY r.place DESC)',
      },
    ],
    tests: [BATCHES],
  },
  {
    name: 'one bad call fails its whole batch',
    why: 'Neighbours of one moment share a statement, not a fate.',
    edits: [
      {
        file: 'src/shared/infra/batcher.ts',
        find: 'else for (const one of batch) await send([one])',
        replace: 'else batch.forEach((one) => one.reject(error))',
      },
    ],
    tests: [BATCHES, 'test/shared/infra/batcher.test.ts'],
  },
  {
    name: 'a used idempotency key opens a second call',
    why: 'The duplicate check gone, the index answers with a defect.',
    edits: [{ file: OPEN_SQL, find: "WHEN same.id IS NOT NULL THEN 'exists'", replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'the bound of open calls is ignored',
    why: 'One account could fill every queue.',
    edits: [
      { file: OPEN_SQL, find: "WHEN c.outstanding_calls >= max_outstanding THEN 'too_many_calls'", replace: '' },
      {
        file: OPEN_SQL,
        find: "WHEN c.outstanding_calls + c.nth > max_outstanding THEN 'try_alone'",
        replace: 'WHEN false THEN NULL',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'the short charge asks for no bounds',
    why: 'What the general statement refuses must not slip through the short one.',
    edits: [
      { file: OPEN_PLAIN_SQL, find: 'AND open_calls_of[part.holder] + part.calls <= max_outstanding', replace: '' },
      { file: OPEN_ONE_SQL, find: 'acc.outstanding_calls < most_outstanding AND ', replace: '' },
    ],
    tests: [SAME_BOOKS, SCHEDULES],
  },
  {
    name: 'the short charge takes debtors and limited keys',
    why: 'Only the general statement looks at debts, and at the limits of keys.',
    edits: [
      { file: OPEN_PLAIN_SQL, find: ' AND held.debt = 0 AND NOT held.keys_limited', replace: '' },
      { file: OPEN_ONE_SQL, find: ' AND acc.debt = 0 AND NOT acc.keys_limited', replace: '' },
    ],
    tests: [SAME_BOOKS, DEBTS],
  },
  {
    name: 'the short charge takes revoked keys',
    why: 'A key that was revoked a moment ago opens nothing.',
    edits: [OPEN_PLAIN_SQL, OPEN_ONE_SQL].map((file) => ({ file, find: 'AND k.revoked_at IS NULL', replace: '' })),
    tests: [MOMENTS],
  },
  {
    name: 'a charge takes a key as it was remembered',
    why: 'A key that is not looked up is whatever the charge finds under the lock of its account.',
    edits: [
      { file: OPEN_SQL, find: "IS NOT TRUE THEN 'look_up'", replace: "IS NULL THEN 'look_up'" },
      ...[OPEN_PLAIN_SQL, OPEN_ONE_SQL].map((file) => ({
        file,
        find: 'AND (k.rate_limit IS NULL OR ',
        replace: 'AND (true OR ',
      })),
    ],
    tests: [KEY_LIMITS],
  },
  {
    name: 'debt is forgotten by a grant',
    why: 'The next credits repay first.',
    edits: [
      {
        file: 'src/shared/ledger/ledger.ts',
        find: 'return account.debt > 0 ? collectDebt(trx, lot.accountId) : balance',
        replace: 'return account.debt < 0 ? collectDebt(trx, lot.accountId) : balance',
      },
    ],
    tests: [DEBTS, SCHEDULES],
  },
  {
    name: 'grants expire beside a charge',
    why: 'Whoever moves credits holds the account first.',
    edits: [
      {
        file: 'src/shared/ledger/ledger.ts',
        find: "await trx('accounts').whereIn('id', accounts).orderBy('id').forNoKeyUpdate().select('id')",
        replace: '',
      },
    ],
    tests: ['test/shared/ledger', VERBS, SCHEDULES],
  },
  {
    name: 'an elided data: URI outside an image',
    why: 'Only an image is billed by a number; the bytes of a video or a file are billed like any other.',
    edits: [
      {
        file: 'src/shared/calls/pricing.ts',
        find: "if (part.type === 'image_url') bytes -= bytesOfDataUri(part.image_url)",
        replace: 'bytes -= bytesOfDataUri(part[String(part.type)])',
      },
    ],
    tests: [PRECHARGE, PRICING],
  },
  {
    name: 'only messages and tools are counted',
    why: 'An upstream bills every field that it reads.',
    edits: [
      {
        file: 'src/shared/calls/pricing.ts',
        find: 'let bytes = Buffer.byteLength(JSON.stringify(body))',
        replace: 'let bytes = Buffer.byteLength(JSON.stringify([body.messages, (body as { tools?: unknown }).tools]))',
      },
    ],
    tests: [PRECHARGE, PRICING],
  },
]
