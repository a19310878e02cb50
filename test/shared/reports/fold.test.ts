import { expect } from 'chai'
import { createRefusals } from '../../../src/shared/calls/refusal-records.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { foldUsage } from '../../../src/shared/reports/fold.ts'
import { usageByDay } from '../../../src/shared/reports/usage.ts'
import { useBooks } from '../../support/database.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { until } from '../../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { aRefusal, aResult, callIdAt, opened, spent, verbs } from '../calls/opening.ts'

const FIGURES = ['calls', 'failed', 'refused', 'credits']

describe('the hours of usage', () => {
  // A database of its own: calls of all accounts are folded.
  const db = useBooks({ pool: 8, isOwn: true })
  let account: TestAccount
  beforeEach(async () => {
    account = await anAccount(db, 100_000)
  })

  const folded = async (): Promise<Record<string, number>> => {
    const { rows } = await db.raw<{ rows: Record<string, number>[] }>(
      `SELECT ${FIGURES.map((of) => `coalesce(sum(${of}), 0)::integer AS ${of}`).join()}
       FROM usage_hours WHERE account_id = ?`,
      [account.id],
    )
    return rows[0]!
  }

  /** Folds until nothing is left: what has ended less than two seconds ago is not folded yet. */
  const foldAll = () =>
    until('all ended calls are folded', async () => {
      await foldUsage(db)
      const left = db('calls').whereRaw('finished_at >= (SELECT folded_until FROM usage_watermark)')
      return (await left.first('id')) === undefined
    })

  const reported = async () => usageByDay(db, { accountId: account.id, memberId: null }, '2026-01-01', today())
  const today = () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)

  it('have each call once, by the hour of its id, however many processes fold and end calls at once', async () => {
    const calls = verbs(db)
    await opened(calls, account, 7)
    await spent(calls, account, 5)
    const early = await opened(calls, account, 11, { id: callIdAt(new Date('2026-01-02T10:59:59.999Z')) })
    await calls.settle(early, 'image', aResult(11))
    const ends = Array.from({ length: 60 }, async (_, nth) => {
      const id = await opened(calls, account, 10)
      return nth % 3 ? calls.settle(id, 'image', aResult(10)) : calls.refund(id, gatewayError('upstream_failed'))
    })
    const folding = Array.from({ length: 3 }, () => foldAll())
    await Promise.all([...ends, ...folding])
    const before = await reported()
    await foldAll()
    expect(await reported()).to.deep.equal(before)
    expect(await folded()).to.deep.equal({ calls: 62, failed: 20, refused: 0, credits: 416 })
    expect(before[0]).to.include({ day: '2026-01-02', calls: 1, credits: 11 })
    expect(before.reduce((sum, { credits }) => sum + credits, 0)).to.equal(423)
  })

  it('wait for a call whose end is not committed, although later ones are', async () => {
    const calls = verbs(db)
    const slow = await opened(calls, account, 40)
    const other = await anAccount(db, 100)
    const trx = await db.transaction()
    await verbs(trx as unknown as Db).settle(slow, 'image', aResult(40))
    const ended = await opened(calls, other, 40)
    await calls.settle(ended, 'image', aResult(40))
    const pastMargin = async () =>
      (await db('calls').where({ id: ended }).whereRaw(`finished_at < now() - interval '2.1 seconds'`).first('id')) !==
      undefined
    await until('the margin has passed', pastMargin)
    await foldUsage(db)
    expect(await folded()).to.deep.equal({ calls: 0, failed: 0, refused: 0, credits: 0 })
    await trx.commit()
    await foldAll()
    expect(await folded()).to.deep.equal({ calls: 1, failed: 0, refused: 0, credits: 40 })
  })

  const refusal = () => aRefusal(account, { model: 'any text' })

  it('miss nothing and have nothing twice, wherever a session that folds is killed or waits for another', async () => {
    const [calls, record] = [verbs(db), createRefusals(db)]
    await spent(calls, account, 5)
    await record(refusal())
    await foldAll()
    const before = await folded()
    await spent(calls, account, 6)
    const refused = await record(refusal())
    const fresh = db('calls').where({ account_id: account.id }).whereRaw(`finished_at > now() - interval '2.1 seconds'`)
    await until('the margin has passed', async () => (await fresh.clone().first('id')) === undefined)
    const places = [
      db('usage_watermark'),
      db('usage_hours').where({ account_id: account.id, modality: 'image' }),
      db('usage_hours').where({ account_id: account.id, modality: 'chat' }),
      db('calls').where({ id: refused }),
    ]
    for (const place of places) {
      await db.transaction(async (trx) => {
        await place.transacting(trx).forUpdate().select('*')
        const killed = foldUsage(db).then(
          () => 'folded',
          () => 'killed',
        )
        await untilItWaits(db, '%fold_usage%')
        await db.raw(`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%fold_usage%'`)
        expect(await killed).to.equal('killed')
      })
      expect(await folded()).to.deep.equal(before)
      await expectBooksToBalance(db)
    }
    const second = await db.transaction(async (trx) => {
      await foldUsage(trx)
      const folding = foldUsage(db)
      await untilItWaits(db, '%fold_usage%')
      return { folding }
    })
    await second.folding
    await foldAll()
    expect(await folded()).to.deep.equal({ ...before, calls: 2, refused: 2, credits: 11 })
  })

  it('have refusals that join a folded record, without the text of their models', async () => {
    const record = createRefusals(db)
    await Promise.all([record(refusal()), record(refusal())])
    await foldAll()
    await record(refusal())
    await expectBooksToBalance(db)
    await foldAll()
    expect(await folded()).to.deep.equal({ calls: 0, failed: 0, refused: 3, credits: 0 })
    expect(await db('usage_hours').where({ account_id: account.id }).distinct().pluck('model')).to.deep.equal([''])
    expect(await reported()).to.deep.equal([])
  })

  it('are the same in sessions of any time zone', async () => {
    const calls = verbs(db)
    const id = await opened(calls, account, 9, { id: callIdAt(new Date('2026-01-02T23:30:00Z')) })
    await calls.settle(id, 'image', aResult(9))
    const days = async () => (await reported()).map(({ day, credits }) => [day, credits])
    for (const zone of ['Asia/Kathmandu', 'America/St_Johns']) {
      await db.transaction(async (trx) => {
        await trx.raw(`SET LOCAL TimeZone = '${zone}'`)
        const rows = await usageByDay(
          trx as unknown as Db,
          { accountId: account.id, memberId: null },
          '2026-01-02',
          '2026-01-02',
        )
        const found = rows.map(({ day, credits }) => [day, credits])
        expect(found, zone).to.deep.equal([['2026-01-02', 9]])
      })
    }
    await foldAll()
    expect(await days()).to.deep.equal([['2026-01-02', 9]])
  })
})
