import { expect } from 'chai'
import { moneyCommands } from '../../../src/admin/commands/money.ts'
import { deleteOldCalls } from '../../../src/shared/calls/retention.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { foldUsage } from '../../../src/shared/reports/fold.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { testConfig } from '../../../scripts/harness/harness.ts'
import { until } from '../../../scripts/harness/until.ts'
import { loadAccounts, loadHistory } from '../../../scripts/harness/loaded-books.ts'
import type { LoadedAccount } from '../../../scripts/harness/loaded-books.ts'
import { opened, verbs } from './opening.ts'

describe('the sweep of old call records', () => {
  // A database of its own: other files have old calls too.
  let url: string
  let db: Db
  let accounts: LoadedAccount[]
  before(async () => {
    url = await newDatabaseUrl()
    db = connectTestDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 3 })
    accounts = await loadAccounts(db, 10)
  })
  after(() => db.destroy())
  // 30 days of 100 calls each.
  beforeEach(async () => {
    await loadHistory(db, accounts, 3000)
    await db('usage_hours').delete()
    await db('usage_watermark').update({ folded_until: '-infinity', ledger_from: 'infinity' })
    await foldUsage(db)
  })

  const count = async (table: string): Promise<number> =>
    (await db(table).count<{ count: number }[]>({ count: '*' }))[0]!.count
  const olderThan = async (days: number): Promise<number> =>
    (
      await db('calls')
        .whereRaw('finished_at < now() - make_interval(days => ?)', [days])
        .count<{ count: number }[]>({ count: '*' })
    )[0]!.count

  async function sweepAll(days: number): Promise<number> {
    let swept = 0
    for (let last = 500; last === 500; swept += last) last = await deleteOldCalls(db, days, 500)
    return swept
  }

  it('deletes what ended before that time, and nothing newer', async () => {
    const old = await olderThan(10)
    expect(old).to.be.within(1950, 2050)
    // Calls near that time grow older while this runs.
    expect(await sweepAll(10)).to.be.within(old, old + 1)
    expect(await olderThan(10)).to.be.at.most(1)
    expect(await count('calls')).to.be.within(3000 - old - 1, 3000 - old)
    expect(await sweepAll(10)).to.be.at.most(1)
  })

  it('leaves every entry of the ledger, every balance and every grant as it was, and the audit clean', async () => {
    const money = async () => [
      await db('accounts').orderBy('id').select('id', 'credits', 'ledger_seq'),
      await db('grants').orderBy('id').select('id', 'remaining'),
      await db('ledger_entries').orderBy(['account_id', 'seq']).select('*'),
    ]
    const before = await money()
    await sweepAll(1)
    expect(await money()).to.deep.equal(before)
    await expectBooksToBalance(db)
  })

  it('deletes at most the given number at a time, the oldest first', async () => {
    const [oldest] = await db('calls').orderBy('id').limit(1).select<{ id: CallId }[]>('id')
    expect(await deleteOldCalls(db, 1, 7)).to.equal(7)
    expect(await count('calls')).to.equal(2993)
    expect(await db('calls').where(oldest!)).to.deep.equal([])
  })

  it('keeps a call that is open, or whose result or idempotency key is still kept, however old it is', async () => {
    const calls = verbs(db)
    const open = await opened(calls, { id: accounts[0]!.id, keyId: accounts[0]!.keyId }, 10)
    const [withResult, withKey] = await db('calls')
      .whereRaw(`finished_at < now() - interval '20 days'`)
      .limit(2)
      .pluck<CallId[]>('id')
    await db.raw(
      `UPDATE calls SET created_at = now() - interval '20 days', id = '00000000-0000-7000-8000-000000000001'
       WHERE id = ?`,
      [open],
    )
    await db('call_results').insert({
      call_id: withResult,
      output: '{}',
      expires_at: db.raw(`now() + interval '1 day'`),
    })
    await db('calls')
      .where({ id: withKey })
      .update({ idempotency_key: 'k', idempotency_expires_at: db.raw(`now() + interval '1 day'`) })
    await sweepAll(1)
    const kept = await db('calls').whereRaw(`created_at < now() - interval '2 days'`).pluck<CallId[]>('id')
    expect(kept).to.have.members([withResult, withKey, '00000000-0000-7000-8000-000000000001'])
  })

  it('does not wait for a locked record', async () => {
    const [held] = await db('calls').orderBy('id').limit(1).select<{ id: CallId }[]>('id')
    await db.transaction(async (trx) => {
      await trx('calls').where(held!).forUpdate()
      expect(await deleteOldCalls(db, 1, 5)).to.equal(5)
    })
    expect(await db('calls').where(held!)).to.have.length(1)
  })

  it('leaves the movements of a swept call for the operator to see', async () => {
    const [id] = await db('calls').orderBy('id').limit(1).pluck<CallId[]>('id')
    await sweepAll(1)
    const show = moneyCommands.find(({ usage }) => usage.startsWith('call show'))!
    const { json } = (await show.run(db, [publicId('call', id!)], {})) as unknown as {
      json: { call: unknown; ledger: { kind: string }[] }
    }
    expect(json.call).to.equal(null)
    expect(json.ledger.map(({ kind }) => kind)).to.deep.equal(['charge', 'settlement'])
  })

  it('is done by the reconciler if CALL_RETENTION_DAYS is set', async () => {
    const settings = { DATABASE_URL: url, WORKER_QUEUES: 'maintenance', CALL_RETENTION_DAYS: '10' }
    const worker = await startWorker(
      await testConfig('http://127.0.0.1:9', settings),
      createLog('silent', 'worker'),
      100,
    )
    try {
      await until('the sweep', async () => (await olderThan(10)) <= 1)
      expect(await olderThan(9)).to.be.at.least(90)
    } finally {
      await worker.stop()
    }
  })
})
