import type { Mutant } from './mutant.ts'
import {
  MOMENTS,
  SCHEDULES,
  VERBS,
  DEBTS,
  BATCHES,
  PRICING,
  PRECHARGE,
  KEY_LIMITS,
  KEY_LOOKUP,
} from './killing-tests.ts'

const OPEN_SQL = 'sql/open_calls.sql'
const GRANTS_SQL = 'sql/spendable_grants.sql'

/** Bugs in what a call is charged: batches, bounds, grants, the estimate. */
export const CHARGING: readonly Mutant[] = [
  {
    name: 'check, then spend',
    why: 'Without the lock on the account two requests see one balance.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'ORDER BY acc.id FOR NO KEY UPDATE',
        replace: 'ORDER BY acc.id',
      },
    ],
    tests: [BATCHES, VERBS, SCHEDULES],
  },
  {
    name: 'the database lets a balance be negative',
    why: 'The last guard of a balance is the database itself.',
    edits: [
      {
        file: 'migrations/002_accounts_and_users.ts',
        find: 'credits_not_negative CHECK (VALUE >= 0)',
        replace: 'credits_not_negative CHECK (VALUE >= -1)',
      },
    ],
    tests: ['test/row-rules.test.ts', 'test/shared/ledger/constraints.test.ts'],
  },
  {
    name: 'expired grants can be spent',
    why: 'An expired grant pays for nothing from that moment.',
    edits: [
      { file: OPEN_SQL, find: 'PERFORM expire_grants(account_ids, moment);', replace: '' },
      {
        file: GRANTS_SQL,
        find: 'AND coalesce(grant_ends_at(g.expires_at, g.revived_until) > now(), true)',
        replace: '',
      },
    ],
    tests: [VERBS],
  },
  {
    name: 'the grant that expires last burns first',
    why: 'Charges take what expires first.',
    edits: [{ file: GRANTS_SQL, find: 'g.revived_until) NULLS LAST', replace: 'g.revived_until) DESC NULLS LAST' }],
    tests: [VERBS],
  },
  {
    name: 'the second call of a batch is paid by a grant that the first has emptied',
    why: 'What calls of one statement are charged is taken from what those before them have left.',
    edits: [{ file: OPEN_SQL, find: 'left_of[nth] := left_of[nth] - part;', replace: '' }],
    tests: [BATCHES],
  },
  {
    name: 'the order of an account is lost in a batch',
    why: 'Requests of one account are charged in the order in which they came.',
    edits: [
      {
        file: OPEN_SQL,
        find: 'ORDER BY u.account_id, u.ordinality',
        replace: 'ORDER BY u.account_id, u.ordinality DESC',
      },
    ],
    tests: [BATCHES],
  },
  {
    name: 'one bad call fails its whole batch',
    why: 'Neighbours of one moment share a statement, not a fate.',
    edits: [
      {
        file: 'src/shared/platform/postgres/batcher.ts',
        find: 'else for (const one of batch) await send([one])',
        replace: 'else batch.forEach((one) => one.reject(error))',
      },
    ],
    tests: [BATCHES, 'test/shared/platform/postgres/batcher.test.ts'],
  },
  {
    name: 'a used idempotency key opens a second call',
    why: 'The duplicate check gone, the index answers with a defect.',
    edits: [{ file: OPEN_SQL, find: "WHEN existing_id IS NOT NULL THEN 'exists'", replace: '' }],
    tests: [SCHEDULES],
  },
  {
    name: 'two calls of a batch have one Idempotency-Key',
    why: 'The second is the first again, in one statement as in two.',
    edits: [
      {
        file: OPEN_SQL,
        find: "names := names || (r.account_id || ' ' || r.user_id || ' ' || r.idempotency_key);",
        replace: '',
      },
    ],
    tests: [BATCHES],
  },
  {
    name: 'the bound of open calls is ignored',
    why: 'One account could fill every queue.',
    edits: [
      {
        file: OPEN_SQL,
        find: "WHEN outstanding >= coalesce(r.most_open, max_outstanding) THEN 'too_many_calls'",
        replace: '',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'the bound of bytes is ignored',
    why: 'One account could fill the memory of Redis.',
    edits: [
      {
        file: OPEN_SQL,
        find: "WHEN held_bytes + r.request_bytes > max_request_bytes THEN 'too_many_bytes'",
        replace: '',
      },
    ],
    tests: [BATCHES, DEBTS],
  },
  {
    name: 'a charge takes debtors',
    why: 'Who owes makes no calls, not even free ones.',
    edits: [{ file: OPEN_SQL, find: 'WHEN r.debt > 0 OR r.amount > balance', replace: 'WHEN r.amount > balance' }],
    tests: [DEBTS],
  },
  {
    name: 'a charge forgets what a key may use',
    why: 'The limits of a key are judged under the lock of its account.',
    edits: [{ file: OPEN_SQL, find: 'WHEN r.model <> ALL (r.models) OR', replace: 'WHEN' }],
    tests: [KEY_LIMITS],
  },
  {
    name: 'a charge takes revoked keys',
    why: 'A key that was revoked a moment ago opens nothing.',
    edits: [{ file: OPEN_SQL, find: "WHEN NOT r.key_is_valid THEN 'unauthorized'", replace: '' }],
    tests: [MOMENTS, KEY_LIMITS],
  },
  {
    name: 'a secret is good after its grace',
    why: 'Whoever rotates a key takes the secret before from whoever has it.',
    edits: [
      {
        file: 'sql/key_is_valid.sql',
        find: 'AND coalesce(key.previous_until > moment, false)',
        replace: '',
      },
    ],
    tests: [KEY_LOOKUP],
  },
  {
    name: 'debt is forgotten by a grant',
    why: 'The next credits repay first.',
    edits: [
      {
        file: 'src/shared/ledger/ledger.ts',
        find: 'return account.debt > 0 ? collectDebt(trx, given.accountId) : balance',
        replace: 'return account.debt < 0 ? collectDebt(trx, given.accountId) : balance',
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
    tests: [VERBS, 'test/shared/ledger', SCHEDULES],
  },
  {
    name: 'an elided data: URI outside an image',
    why: 'Only an image is billed by a number; the bytes of a video or a file are billed like any other.',
    edits: [
      {
        file: 'src/shared/chat/completions/estimate.ts',
        find: "if (part.type === 'image_url') bytes -= bytesOfDataUri(part.image_url)",
        replace: 'bytes -= bytesOfDataUri(part[String(part.type)])',
      },
    ],
    tests: [PRICING, PRECHARGE],
  },
  {
    name: 'only messages and tools are counted',
    why: 'An upstream bills every field that it reads.',
    edits: [
      {
        file: 'src/shared/chat/completions/estimate.ts',
        find: 'let bytes = Buffer.byteLength(JSON.stringify(body))',
        replace: 'let bytes = Buffer.byteLength(JSON.stringify([body.messages, (body as { tools?: unknown }).tools]))',
      },
    ],
    tests: [PRICING, PRECHARGE],
  },
]
