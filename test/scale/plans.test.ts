import { expect } from 'chai'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { loadAccounts, loadHistory } from '../../scripts/harness/loaded-books.ts'
import type { LoadedAccount } from '../../scripts/harness/loaded-books.ts'
import { dropComingMonths } from '../../scripts/harness/months.ts'
import { anOrder, verbs } from '../shared/calls/opening.ts'
import { sentDuring } from './sent-statements.ts'
import type { Read } from './reads.ts'
import { READS } from './reads.ts'

const ACCOUNTS = 4000
const CALLS = 30_000

/** The other rows of a used database: sessions, mails, links, actions and expired grants, thousands of each. */
const OTHER_ROWS = `
  INSERT INTO sessions (id, user_id, account_id, token_hash, user_agent, ip, created_at, expires_at)
  SELECT gen_random_uuid(), user_id, account_id, sha256((account_id::text || n)::bytea), 'browser', '',
    now() - n * interval '1 day', now() - n * interval '1 day' + interval '7 days'
  FROM members, generate_series(0, 4) n;
  INSERT INTO login_networks (user_id, network_hash, last_login_at)
  SELECT user_id, sha256((user_id::text || n)::bytea), now() - n * interval '40 days'
  FROM members, generate_series(0, 4) n;
  INSERT INTO mails (id, kind, recipient, user_id, status, created_at, finished_at)
  SELECT gen_random_uuid(), 'verification', email, id,
    CASE WHEN n = 4 AND seq % 20 = 0 THEN 'dead' ELSE 'sent' END, at, at
  FROM (SELECT *, row_number() OVER () AS seq FROM users) u, generate_series(0, 4) n,
    LATERAL (SELECT now() - n * interval '2 days' - seq * interval '10 seconds' AS at) t;
  INSERT INTO mails (id, kind, recipient, user_id)
  SELECT gen_random_uuid(), 'verification', email, id FROM users LIMIT 100;
  INSERT INTO one_time_tokens (mail_id, user_id, purpose, token_hash, email, asked_at, expires_at)
  SELECT id, user_id, kind, sha256(id::text::bytea), recipient, created_at, created_at + interval '1 day'
  FROM mails;
  INSERT INTO operator_actions (id, action, account_id, created_at)
  SELECT gen_random_uuid(), 'credits_granted', id, now() FROM accounts, generate_series(0, 4);
  UPDATE calls SET idempotency_key = 'key-' || id, idempotency_expires_at = created_at + interval '1 day'
  WHERE created_at > now() - interval '1 day';
  ANALYZE sessions, login_networks, mails, one_time_tokens, operator_actions, calls, users, accounts, members`

describe('plans over loaded tables', function () {
  let db: Db
  let accounts: LoadedAccount[]
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    await dropComingMonths(db)
    accounts = await loadAccounts(db, ACCOUNTS)
    await loadHistory(db, accounts, CALLS)
    await db.raw(OTHER_ROWS)
    const calls = verbs(db)
    await Promise.all(
      accounts.slice(0, 200).map((account) => calls.open(anOrder({ id: account.id, keyId: account.keyId }, 1))),
    )
  })
  after(() => db.destroy())

  /**
   * The plan that Postgres chooses even where it may scan whole tables, which Tollgate's own connections forbid
   * (db.ts).
   */
  async function plansOf({ read }: Read, account: LoadedAccount): Promise<string> {
    const [call] = await db('calls').where({ account_id: account.id }).limit(1).pluck<CallId[]>('id')
    const statements = (await sentDuring(() => read({ db, mine: account, call: call! }))).filter(({ text }) =>
      /^\s*(select|with|update|delete)\b/i.test(text),
    )
    expect(statements).not.to.deep.equal([])
    return db.transaction(async (trx) => {
      await trx.raw('SET LOCAL enable_seqscan = on')
      const plans: string[] = []
      for (const { text, values = [] } of statements) {
        const used: unknown[] = []
        // A statement has numbered parameters, and raw expects question marks.
        const sql = text.replaceAll(/\$(\d+)/g, (_all, nth: string) => {
          used.push(values[Number(nth) - 1])
          return '?'
        })
        const { rows } = await trx.raw<{ rows: Record<string, string>[] }>(`EXPLAIN ${sql}`, used as string[])
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
      }
      return plans.join('\n')
    })
  }

  for (const [auth, reads] of Object.entries(READS)) {
    describe(`of what ${auth} reads`, () => {
      for (const [name, one] of Object.entries(reads)) {
        it(`go by an index${one.sorts ? '' : ' that has their order'}: ${name}`, async () => {
          const [busy, ordinary] = [await plansOf(one, accounts[0]!), await plansOf(one, accounts[1]!)]
          for (const plan of [busy, ordinary]) {
            expect(plan, plan).to.contain(one.index)
            expect(plan, plan).not.to.match(/Seq Scan/)
          }
          // Postgres may sort a dozen calls of an account, but a page must not read all of thousands.
          if (!one.sorts) expect(busy).not.to.match(/Sort/)
        })
      }
    })
  }
})
