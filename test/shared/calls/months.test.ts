import { expect } from 'chai'
import { moneyCommands } from '../../../src/admin/commands/money.ts'
import { dropOldMonths, makeMonths, monthsAhead } from '../../../src/shared/calls/months.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { firstIdAt, publicId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { foldUsage } from '../../../src/shared/reports/fold.ts'
import { findRecord } from '../../../src/shared/reports/call-records.ts'
import { usageByDay } from '../../../src/shared/reports/usage.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, balanceOf, debtOf } from '../../../scripts/harness/factories.ts'
import { startTestWeb, testConfig } from '../../../scripts/harness/harness.ts'
import { monthsOfCalls, splitIntoMonths } from '../../../scripts/harness/months.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { askedOf } from '../../support/caller.ts'
import { aResult, callIdAt, opened, verbs } from './opening.ts'

/** The middle of a month, so many months ago; and as the name of a partition has it. */
const ago = (months: number): Date => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 15))
}
const partition = (table: string, date: Date) => `${table}_${date.toISOString().slice(0, 7).replace('-', '_')}`
const nameOf = (table: string, months: number) => partition(table, ago(months))

const TABLES = ['call_results', 'calls', 'ledger_entries']
const DAY_MS = 86_400_000

describe('the months of calls, results and ledger', () => {
  let url: string
  let db: Db
  // A database of its own for each: their partitions differ.
  beforeEach(async () => {
    url = await newDatabaseUrl()
    db = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 4 })
  })
  afterEach(() => db.destroy())

  it('are made three ahead, once, whoever makes them, with bounds of UTC in any session', async () => {
    await splitIntoMonths(db, 1, 0)
    expect(await monthsAhead(db)).to.equal(0)
    await db.raw(`ALTER DATABASE ?? SET timezone = 'Asia/Seoul'`, [new URL(url).pathname.slice(1)])
    const elsewhere = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    try {
      await Promise.all([makeMonths(elsewhere), makeMonths(elsewhere), makeMonths(elsewhere)])
      expect(await monthsAhead(elsewhere)).to.equal(3)
      const { rows } = await elsewhere.raw<{ rows: { bounds: string }[] }>(
        `SELECT pg_get_expr(relpartbound, oid) AS bounds FROM pg_class WHERE relname = ?`,
        [nameOf('ledger_entries', -3)],
      )
      const first = (months: number) =>
        firstIdAt('call', ago(months).setUTCDate(1)).replace('-0000-0000-', '-7000-8000-')
      expect(rows[0]!.bounds).to.equal(`FOR VALUES FROM ('${first(-3)}') TO ('${first(-4)}')`)
    } finally {
      await elsewhere.destroy()
    }
  })

  it('are read one at a time by everything that opens, runs, ends and finds a call', async () => {
    // One connection for everything: others report what they have read some time later.
    const one = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 1 })
    await splitIntoMonths(one, 4)
    const account = await anAccount(one, 100)
    const scans = async (): Promise<Map<string, number>> => {
      await one.raw('SELECT pg_stat_force_next_flush()')
      const { rows } = await one.raw<{ rows: { name: string; scans: number }[] }>(`
        SELECT relname AS name, idx_scan::integer AS scans FROM pg_stat_user_tables
        WHERE relname ~ '^(calls|call_results|ledger_entries)_[0-9]' ORDER BY 1`)
      return new Map(rows.map((part) => [part.name, part.scans]))
    }
    const before = await scans()
    const calls = verbs(one)
    // More than five times: from then on plans for any values are used.
    for (let nth = 0; nth < 8; nth++) {
      const idempotency = { key: `k${nth}`, seconds: 60 }
      const id = await opened(calls, account, 2, { id: callIdAt(ago(0)), idempotency, requestHash: '00'.repeat(32) })
      await calls.begin(id)
      await calls.renew([{ id, attempt: 1 }], 60)
      await calls.settle(id, 'image', aResult(1))
      expect((await findRecord(one, id))?.status).to.equal('succeeded')
    }
    const read = [...(await scans())].filter(([name, count]) => count > before.get(name)!)
    await one.destroy()
    const names = read.map(([name]) => name)
    expect(names).to.include.members(TABLES.map((table) => nameOf(table, 0)))
    // Clocks may differ by a day: on the first and the last of a month, the one next to it is read, too.
    const near = [-DAY_MS, 0, DAY_MS].map((ms) => new Date(Date.now() + ms))
    expect(TABLES.flatMap((table) => near.map((date) => partition(table, date)))).to.include.members(names)
  })

  it('refuse a call of a month that is missing with 503, at no charge, until it is made', async () => {
    await splitIntoMonths(db, 0)
    const web = await startTestWeb(await testConfig('http://127.0.0.1:9', { DATABASE_URL: url }))
    try {
      const account = await askedOf(web).account(100)
      await db.raw('DROP TABLE ??', [nameOf('calls', 0)])
      expect(await monthsAhead(db)).to.equal(-1)
      const refused = await account.chat('hello')
      expect([refused.status, refused.json.error.code]).to.deep.equal([503, 'service_unavailable'])
      expect(Number(refused.headers.get('retry-after'))).to.be.above(0)
      expect(await balanceOf(db, account.id)).to.equal(100)
      expect(await db('ledger_entries').where({ account_id: account.id })).to.have.length(1)
      await makeMonths(db)
      await opened(verbs(db), account, 5)
      await expectBooksToBalance(db)
    } finally {
      await web.stop()
    }
  })

  it('go whole past CALL_RETENTION_DAYS: none while it is needed, and after any interruption', async () => {
    await splitIntoMonths(db, 4)
    const calls = verbs(db)
    const [account, debtor] = [await anAccount(db, 100), await anAccount(db, 10)]
    await changeKey(db, account.keyId, { budget: { credits: 90, period: 'total' } })
    const inOld = { requestHash: '00'.repeat(32) }
    const at = () => ({ ...inOld, id: callIdAt(ago(3)) })
    const ids: CallId[] = []
    for (const key of ['a', 'b'])
      ids.push(await opened(calls, account, 10, { ...at(), idempotency: { key, seconds: 600 } }))
    await calls.settle(await opened(calls, debtor, 10, at()), 'image', aResult(20))
    await calls.settle(ids[0]!, 'image', aResult(7))
    const newer = await opened(calls, account, 5)
    const old = nameOf('calls', 3)
    const day = ago(3).toISOString().slice(0, 10)
    const usage = () => usageByDay(db, { accountId: account.id, memberId: null }, day, day)

    const ended = () =>
      db('calls')
        .whereNot({ id: newer })
        .update({ finished_at: ago(2) })
    const obstacles: [string, () => Promise<unknown>][] = [
      ['a call is open', () => calls.settle(ids[1]!, 'image', aResult(10))],
      ['a call has ended lately', ended],
      ['a call is not folded', () => foldUsage(db)],
      ['a result is stored', () => db('call_results').update({ expires_at: db.fn.now() })],
      ['a key is stored', () => db('calls').update({ idempotency_expires_at: null, idempotency_key: null })],
    ]
    for (const [what, remove] of obstacles) {
      await dropOldMonths(db, 30)
      expect(await db('calls').whereIn('id', ids), what).to.have.length(2)
      await remove()
    }
    const before = await usage()
    /** Whether the month can be given up after a change, which is undone. */
    const canGo = async (change: string): Promise<boolean> => {
      const trx = await db.transaction()
      try {
        await trx.raw(change)
        const { rows } = await trx.raw<{ rows: { can: boolean }[] }>('SELECT leave_month(?, ?) AS can', [
          ago(2),
          ago(1),
        ])
        return rows[0]!.can
      } finally {
        await trx.rollback()
      }
    }
    expect(await canGo('SELECT')).to.equal(true)
    for (const change of [
      `UPDATE usage_watermark SET folded_until = now() - interval '1 year'`,
      `UPDATE call_results SET expires_at = now() + interval '1 day'`,
    ])
      expect(await canGo(change), change).to.equal(false)

    // A reader keeps the partition of the results from being detached: given up, and taken up again.
    const reader = await db.transaction()
    await reader.raw('SELECT count(*) FROM call_results')
    try {
      expect(await dropOldMonths(db, 30).catch((error: Error) => error.name)).to.equal('KnexTimeoutError')
      await opened(calls, account, 5)
      await expectBooksToBalance(db)
    } finally {
      await reader.commit()
    }
    // As if it had died after detaching the calls.
    await db.raw('ALTER TABLE calls DETACH PARTITION ?? CONCURRENTLY', [old])
    await expectBooksToBalance(db)
    // Several at once, as when a lease was taken over: some fail over what others have done.
    await Promise.allSettled([dropOldMonths(db, 30), dropOldMonths(db, 30), dropOldMonths(db, 30)])
    await opened(calls, account, 5)
    await dropOldMonths(db, 30)

    expect(await monthsOfCalls(db)).to.not.include(old)
    expect(await monthsOfCalls(db)).to.include(nameOf('calls', 1))
    const { rows: tables } = await db.raw<{ rows: object[] }>('SELECT FROM pg_class WHERE relname = ANY (?)', [
      [old, nameOf('call_results', 3)],
    ])
    expect(tables).to.have.length(0)
    expect(await usage()).to.deep.equal(before)
    expect(await debtOf(db, debtor.id)).to.equal(10)
    expect(await db('calls').where({ id: newer })).to.have.length(1)
    const show = moneyCommands.find(({ usage: of }) => of.startsWith('call show'))!
    const { json } = (await show.run(db, [publicId('call', ids[0]!)], {})) as unknown as {
      json: { call: unknown; ledger: { kind: string }[] }
    }
    expect(json.call).to.equal(null)
    expect(json.ledger.map(({ kind }) => kind)).to.deep.equal(['charge', 'settlement'])
    await expectBooksToBalance(db)
  })
})
