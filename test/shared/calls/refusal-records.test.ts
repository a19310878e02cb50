import { expect } from 'chai'
import { until } from '../../../scripts/harness/until.ts'
import type { RecordRefusal, Refusal } from '../../../src/shared/calls/refusal-records.ts'
import { createRefusals } from '../../../src/shared/calls/refusal-records.ts'
import { aRefusal } from './opening.ts'
import { useDb } from '../../support/database.ts'
import { useAccount } from '../../support/gateway.ts'

describe('the records of refusals', () => {
  const db = useDb()
  const account = useAccount({ db })
  let record: RecordRefusal
  before(async () => {
    record = createRefusals(db)
  })

  const refusal = (changes: Partial<Refusal> = {}): Refusal => aRefusal(account, { model: '', ...changes })
  const rows = () => db('calls').where({ account_id: account.id }).select('id', 'model', 'count', 'error_type')

  it('count every folded refusal, and each gets the id of its record', async () => {
    const models = ['', 'a', 'b']
    const flood = Array.from({ length: 300 }, (_, nth) => refusal({ model: models[nth % 3]! }))
    const ids = await Promise.all(flood.map(record))
    const found = await rows()
    expect(found.reduce((sum, { count }) => sum + count, 0)).to.equal(300)
    for (const [nth, id] of ids.entries()) expect(found.find((row) => row.id === id)?.model).to.equal(models[nth % 3])
  })

  it('fold only those of the rate limit', async () => {
    const refusals = Array.from({ length: 10 }, () => refusal({ error: 'unsupported_model' }))
    const ids = await Promise.all(refusals.map(record))
    expect(ids).to.deep.equal(refusals.map(({ id }) => id))
    expect((await rows()).map(({ count }) => count)).to.deep.equal(Array(10).fill(1))
  })

  it('use one connection at a time, however many there are', async () => {
    const id = await record(refusal())
    const lock = await db.transaction()
    await lock('calls').where({ id }).forUpdate().first('id')
    const flood = Promise.all(Array.from({ length: 100 }, () => record(refusal())))
    try {
      // Unless the minute ends now, the flood waits for the locked row.
      await until('the flood at Postgres', async () => db.client.pool.numUsed() >= 2)
      // Rejected once the pool's patience is over, if no connection is free.
      await db.raw('SELECT 1')
      expect(db.client.pool.numPendingAcquires()).to.equal(0)
    } finally {
      await lock.rollback()
    }
    await flood
    expect((await rows()).reduce((sum, { count }) => sum + count, 0)).to.equal(101)
  })

  it('cut a long text before they process it', async () => {
    const model = '\u{1F600}a'.repeat(300_000)
    const cpuOf = async (text: string): Promise<number> => {
      const before = process.cpuUsage()
      await Promise.all(Array.from({ length: 192 }, () => record(refusal({ model: text, error: 'unsupported_model' }))))
      // Where the kernel counts user and system time apart, it samples: only their sum is exact.
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const short = '\u{1F600}a'.repeat(100)
    // The first is of a process that is not warm yet.
    await cpuOf(short)
    let [usual, long] = [Infinity, Infinity]
    for (const _ of [1, 2, 3]) {
      usual = Math.min(usual, await cpuOf(short))
      long = Math.min(long, await cpuOf(model))
    }
    expect(long, 'µs of CPU').to.be.below(5 * usual)
    expect(new Set((await rows()).map((row) => row.model))).to.deep.equal(new Set(['\u{1F600}a'.repeat(100)]))
  })

  it('store what Postgres would refuse as replacement characters, also where a text is cut', async () => {
    await record(refusal({ model: `\0\ud800${'\u{1F600}'.repeat(150)}${'b'.repeat(99)}\u{1F600}` }))
    const [row] = await rows()
    expect(row!.model).to.equal(`\uFFFD\uFFFD${'\u{1F600}'.repeat(150)}${'b'.repeat(48)}`)
  })
})
