import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { endCalls, openCalls } from '../../../src/shared/calls/statements.ts'
import type { OutcomeRow } from '../../../src/shared/calls/statements.ts'
import { anAccount, balanceOf, debtOf } from '../../../scripts/harness/factories.ts'
import { aResult, anOrder, letLapse, opened, remainders, verbs, wordOf, wordsOf } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const settled = (id: OutcomeRow['id'], cost: number): { row: OutcomeRow; output: string } => ({
  row: { id, status: 'succeeded', cost, http_status: 200, result_seconds: 600 },
  output: aResult(cost).output,
})

const failed = (id: OutcomeRow['id']): { row: OutcomeRow; output: string } => ({
  row: { id, status: 'failed', http_status: 502, error_type: 'upstream_failed', result_seconds: 600 },
  output: JSON.stringify(gatewayError('upstream_failed')),
})

/** A count of the current backend. It has those of earlier transactions too, until it reports them. */
async function countOf(db: Db, count: 'n_tup_upd' | 'idx_tup_fetch', table: string): Promise<number> {
  const { rows } = await db.raw<{ rows: { count: number }[] }>(
    'SELECT ??::integer AS count FROM pg_stat_xact_user_tables WHERE relname = ?',
    [count, table],
  )
  return rows[0]!.count
}

describe('a batch of calls in one statement', () => {
  const db = useBooks({ pool: 20 })

  it("answers in the order of the requests, each account's calls charged in their order", async () => {
    const [one, two] = [await anAccount(db, 100), await anAccount(db, 30)]
    const orders = [anOrder(two, 20), anOrder(one, 50), anOrder(two, 10), anOrder(one, 50)]
    const rows = await openCalls(db, orders, { maxOutstanding: 1000 })
    expect(rows.map((row) => [row.id, row.outcome, row.balance])).to.deep.equal([
      [orders[0]!.id, 'opened', 10],
      [orders[1]!.id, 'opened', 50],
      [orders[2]!.id, 'opened', 0],
      [orders[3]!.id, 'opened', 0],
    ])
    expect(rows.map((row) => row.outstanding)).to.deep.equal([1, 1, 2, 2])
  })

  it('updates the row of an account once, and is paid by one grant after the other', async () => {
    const account = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 30, days: 2 }, { amount: 40 }])
    const orders = [20, 20, 20, 30].map((amount) => anOrder(account, amount))
    await db.transaction(async (transaction) => {
      const updates = (): Promise<number> => countOf(transaction, 'n_tup_upd', 'accounts')
      const before = await updates()
      await openCalls(transaction, orders, { maxOutstanding: 1000 })
      expect((await updates()) - before).to.equal(1)
      const [first, second, third, fourth] = orders.map(({ id }) => id) as [CallId, CallId, CallId, CallId]
      await endCalls(transaction, [settled(first, 5), settled(second, 24), settled(third, 23), failed(fourth)])
      expect((await updates()) - before).to.equal(2)
    })
    expect(await balanceOf(db, account.id)).to.equal(100 - 5 - 24 - 23)
    expect(await remainders(db, account.grants)).to.deep.equal([15, 0, 33])
  })

  const left = {
    'one was left a moment ago: its sender cannot know yet that it was lost': { count: 1, ago: -60, outcome: 'opened' },
    'all were left and each request joins one': { count: 300, ago: 60, outcome: 'claimed' },
  }
  for (const [name, { count, ago, outcome }] of Object.entries(left))
    it(`reads few of many equal calls if ${name}`, async () => {
      const account = await anAccount(db, 10_000)
      const equal = (times: number) =>
        Array.from({ length: times }, () => anOrder(account, 1, { requestHash: 'ab'.repeat(32), joinsLeft: true }))
      const [running, batch] = [equal(300), equal(20)]
      await openCalls(db, running, { maxOutstanding: 1000 })
      const ids = running.slice(0, count).map(({ id }) => id)
      await db('calls')
        .whereIn('id', ids)
        .update({ abandoned_at: db.raw('now() - make_interval(secs => ?)', [ago]) })
      await db.transaction(async (transaction) => {
        const before = await countOf(transaction, 'idx_tup_fetch', 'calls')
        const rows = await openCalls(transaction, batch, { maxOutstanding: 1000 })
        expect(rows.map((row) => row.outcome)).to.deep.equal(batch.map(() => outcome))
        const fetched = (await countOf(transaction, 'idx_tup_fetch', 'calls')) - before
        expect(fetched).to.be.lessThan(10 * batch.length)
      })
    })

  it('affects no other account by a refusal', async () => {
    const [funded, short, suspended, revoked] = [
      await anAccount(db, 100),
      await anAccount(db, 5),
      await anAccount(db, 100),
      await anAccount(db, 100),
    ]
    await db('accounts').where({ id: suspended.id }).update({ status: 'suspended' })
    await db('api_keys').where({ id: revoked.keyId }).update({ revoked_at: db.fn.now() })
    const orders = [
      anOrder(short, 6),
      anOrder(funded, 60),
      anOrder(suspended, 1),
      anOrder(revoked, 1),
      anOrder(funded, 40),
      anOrder(short, 5),
    ]
    expect(await wordsOf(db, orders)).to.deep.equal(
      'insufficient_credits opened account_suspended unauthorized opened opened'.split(' '),
    )
    expect(await Promise.all([funded, short, suspended, revoked].map(({ id }) => balanceOf(db, id)))).to.deep.equal([
      0, 0, 100, 100,
    ])
  })

  it('judges each call by what those before it have left', async () => {
    const account = await anAccount(db, 100)
    const amounts = [60, 60, 30, 101, 10, 1]
    expect(
      await wordsOf(
        db,
        amounts.map((amount) => anOrder(account, amount)),
      ),
    ).to.deep.equal(['opened', 'credits_in_use', 'opened', 'insufficient_credits', 'opened', 'credits_in_use'])
    expect(await balanceOf(db, account.id)).to.equal(0)
    const few = await anAccount(db, 100)
    expect(
      await wordsOf(db, [anOrder(few, 1), anOrder(few, 101), anOrder(few, 1), anOrder(few, 1)], { maxOutstanding: 2 }),
    ).to.deep.equal(['opened', 'insufficient_credits', 'opened', 'too_many_calls'])
    const small = await anAccount(db, 100)
    expect(
      await wordsOf(
        db,
        [60, 50, 40, 1].map((requestBytes) => anOrder(small, 1, { requestBytes })),
        { maxOutstanding: 9, maxRequestBytes: 100 },
      ),
    ).to.deep.equal(['opened', 'too_many_bytes', 'opened', 'too_many_bytes'])
  })

  it('opens one call of several with one Idempotency-Key, and answers the others with it', async () => {
    const [one, two] = [await anAccount(db, 100), await anAccount(db, 100)]
    const key = { idempotency: { key: 'twice', seconds: 60 }, requestHash: 'aa'.repeat(32) }
    const orders = [one, one, two, one, one].map((account, at) => anOrder(account, 10, at === 3 ? {} : key))
    const rows = await openCalls(db, orders, { maxOutstanding: 1000 })
    expect(rows.map((row) => [row.outcome, row.existing_id])).to.deep.equal([
      ['opened', null],
      ['exists', orders[0]!.id],
      ['opened', null],
      ['opened', null],
      ['exists', orders[0]!.id],
    ])
    expect([await balanceOf(db, one.id), await balanceOf(db, two.id)]).to.deep.equal([80, 90])
  })

  it('ends a call by the first of its outcomes that may end it', async () => {
    const calls = verbs(db)
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    await calls.begin(id)
    await letLapse(db, id)
    await calls.begin(id)
    const stale = failed(id)
    const ends = await endCalls(db, [{ ...stale, row: { ...stale.row, attempt: 1 } }, settled(id, 4), failed(id)])
    expect(ends.map((end) => end && [end.status, end.balance])).to.deep.equal([null, ['succeeded', 96], null])
  })

  it('fails only a bad request: the others are charged', async () => {
    const account = await anAccount(db, 100)
    const calls = verbs(db)
    const bad = { ...anOrder(account, 1), modality: 'smell' as 'image' }
    const ends = await Promise.allSettled([
      calls.open(anOrder(account, 10)),
      calls.open(bad),
      calls.open(anOrder(account, 10)),
    ])
    expect(ends.map((end) => end.status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
    expect(await balanceOf(db, account.id)).to.equal(80)
  })

  it('ends calls of many accounts, and each of them once', async () => {
    const calls = verbs(db)
    const [one, two] = [await anAccount(db, [{ amount: 50, days: 1 }, { amount: 50 }]), await anAccount(db, 20)]
    const [a, b, c] = [await opened(calls, one, 60), await opened(calls, one, 40), await opened(calls, two, 20)]
    const ends = await endCalls(db, [settled(a, 30), failed(c), settled(b, 90), failed(a), failed(b)])
    expect(ends.map((end) => end && [end.status, end.credits, end.uncollected, end.balance])).to.deep.equal([
      ['succeeded', 30, 0, 0],
      ['failed', 0, 0, 20],
      ['succeeded', 40, 40, 0],
      null,
      null,
    ])
    // What the first gave back has repaid 30 of the 40 that the second left.
    expect([await balanceOf(db, one.id), await debtOf(db, one.id)]).to.deep.equal([0, 10])
  })

  it('leaves no call uncollected if the balance can pay it with what others of the batch give back', async () => {
    const calls = verbs(db)
    const account = await anAccount(db, [{ amount: 60, days: 1 }, { amount: 60 }])
    const ids = [await opened(calls, account, 70), await opened(calls, account, 10), await opened(calls, account, 30)]
    const ends = await endCalls(db, [failed(ids[0]!), settled(ids[1]!, 15), settled(ids[2]!, 60)])
    expect(ends.map((end) => [end!.credits, end!.uncollected, end!.balance])).to.deep.equal([
      [0, 0, 45],
      [15, 0, 45],
      [35, 25, 45],
    ])
    const rows = await db('ledger_entries')
      .where({ account_id: account.id })
      .whereNot({ kind: 'charge' })
      .orderBy('seq')
      .select('kind', 'amount', 'balance_after')
    expect(rows.slice(-5).map((row) => `${row.kind} ${row.amount} = ${row.balance_after}`)).to.deep.equal([
      'settlement -5 = 5',
      'settlement -5 = 0',
      'refund 10 = 10',
      'refund 60 = 70',
      'collection -25 = 45',
    ])
  })

  it('collects of a grant no more than the calls before have left', async () => {
    const calls = verbs(db)
    const account = await anAccount(db, [{ amount: 20, days: 1 }, { amount: 30 }])
    const ids = [await opened(calls, account, 10), await opened(calls, account, 5)]
    await endCalls(db, [settled(ids[0]!, 14), settled(ids[1]!, 9)])
    expect(await remainders(db, account.grants)).to.deep.equal([0, 27])
  })

  it('charges exactly 50 of 200 parallel calls on funds for 50, whichever process opens them', async () => {
    // The charges straddle the ends of three grants.
    const account = await anAccount(db, [{ amount: 111, days: 1 }, { amount: 119, days: 2 }, { amount: 120 }])
    const processes = Array.from({ length: 4 }, () => verbs(db))
    const words = (
      await Promise.all(Array.from({ length: 200 }, (_, at) => processes[at % 4]!.open(anOrder(account, 7))))
    ).map(wordOf)
    expect(words.filter((word) => word === 'opened').length).to.equal(50)
    expect(words.filter((word) => word === 'credits_in_use').length).to.equal(150)
    expect(await balanceOf(db, account.id)).to.equal(0)
    expect(await remainders(db, account.grants)).to.deep.equal([0, 0, 0])
  })
})
