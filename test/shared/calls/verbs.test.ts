import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { expireGrants } from '../../../src/shared/ledger/ledger.ts'
import { aGrant, anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import {
  aResult,
  anOrder,
  letExpire,
  letLapse,
  movements,
  opened,
  outstandingOf,
  remainders,
  rowOf,
  verbs,
  wordOf,
} from './opening.ts'
import { useBooks } from '../../support/database.ts'

const failure = gatewayError('upstream_failed')

describe('the verbs of a call', () => {
  const db = useBooks()
  const calls = verbs(db)

  describe('open', () => {
    it('burns what expires first, then the oldest, then what never expires', async () => {
      const account = await anAccount(db, [
        { amount: 10 },
        { amount: 20, days: 9 },
        { amount: 30, days: 2 },
        { amount: 40, days: 9 },
      ])
      const id = await opened(calls, account, 75)
      expect(await remainders(db, account.grants)).to.deep.equal([10, 0, 0, 15])
      expect(await movements(db, id, account.grants)).to.deep.equal(['charge -30 2', 'charge -20 1', 'charge -25 3'])
      expect(await balanceOf(db, account.id)).to.equal(25)
    })

    it('spends the last credit, and not one more', async () => {
      const account = await anAccount(db, [{ amount: 3, days: 1 }, { amount: 4 }])
      expect(wordOf(await calls.open(anOrder(account, 8)))).to.equal('insufficient_credits')
      expect(wordOf(await calls.open(anOrder(account, 7)))).to.equal('opened')
      expect(wordOf(await calls.open(anOrder(account, 1)))).to.equal('credits_in_use')
      expect(await balanceOf(db, account.id)).to.equal(0)
    })

    it('takes nothing from an expired grant, and what was left of it leaves the balance first', async () => {
      const account = await anAccount(db, [{ amount: 100, days: 1 }, { amount: 5 }])
      await letExpire(db, account.grants[0]!)
      expect(wordOf(await calls.open(anOrder(account, 6)))).to.equal('insufficient_credits')
      const id = await opened(calls, account, 5)
      expect(await movements(db, id, account.grants)).to.deep.equal(['charge -5 1'])
      expect(await balanceOf(db, account.id)).to.equal(0)
    })

    it('opens a free call without a ledger entry, also with an empty balance', async () => {
      const account = await anAccount(db)
      const id = await opened(calls, account, 0)
      await calls.settle(id, 'image', aResult(0))
      expect(await movements(db, id, [])).to.deep.equal([])
    })

    it('charges once, however often the same id is opened', async () => {
      const account = await anAccount(db, 100)
      const order = anOrder(account, 40)
      expect(wordOf(await calls.open(order))).to.equal('opened')
      expect(wordOf(await calls.open(order))).to.equal('opened')
      const many = await Promise.all(Array.from({ length: 10 }, () => verbs(db).open(order)))
      expect(many.map(wordOf)).to.deep.equal(Array(10).fill('opened'))
      expect(await balanceOf(db, account.id)).to.equal(60)
      expect(await outstandingOf(db, account.id)).to.equal(1)
    })

    it('answers a known idempotency key with the call that has it, and charges nothing', async () => {
      const account = await anAccount(db, 100)
      const more = { idempotency: { key: 'k', seconds: 60 }, requestHash: '00'.repeat(32) }
      const first = await opened(calls, account, 10, more)
      expect(await calls.open(anOrder(account, 10, more))).to.deep.equal({ opened: false, existing: first })
      expect(await balanceOf(db, account.id)).to.equal(90)
      const other = await anAccount(db, 100)
      expect(wordOf(await calls.open(anOrder(other, 10, more)))).to.equal('opened')
    })

    it('forgets an idempotency key after it has expired', async () => {
      const account = await anAccount(db, 100)
      const more = { idempotency: { key: 'k', seconds: 60 }, requestHash: '00'.repeat(32) }
      const first = await opened(calls, account, 10, more)
      await db('calls')
        .where({ id: first })
        .update({ idempotency_expires_at: db.raw("now() - interval '1 second'") })
      expect(wordOf(await calls.open(anOrder(account, 10, more)))).to.equal('opened')
      expect(await balanceOf(db, account.id)).to.equal(80)
    })

    it('refuses more open calls than an account may have, and accepts more when one has ended', async () => {
      const account = await anAccount(db, 100)
      const few = verbs(db, 2)
      const first = await opened(few, account, 1)
      await opened(few, account, 1)
      expect(wordOf(await few.open(anOrder(account, 1)))).to.equal('too_many_calls')
      await few.refund(first, failure)
      expect(wordOf(await few.open(anOrder(account, 1)))).to.equal('opened')
    })

    it('records when a key was last used', async () => {
      const account = await anAccount(db, 100)
      await opened(calls, account, 1)
      const { last_used_at: used } = await db('api_keys')
        .where({ id: account.keyId })
        .first<{ last_used_at: Date | null }>()
      expect(used).to.be.an.instanceOf(Date)
    })
  })

  describe('refund', () => {
    it('gives every credit back to the grant that it came from', async () => {
      const account = await anAccount(db, [{ amount: 30 }, { amount: 20, days: 2 }, { amount: 10, days: 1 }])
      const id = await opened(calls, account, 45)
      expect(await remainders(db, account.grants)).to.deep.equal([15, 0, 0])
      const ended = await calls.refund(id, failure)
      expect(ended!.answer).to.deep.equal({ status: 502, body: JSON.stringify({ ok: false, error: failure }) })
      expect(await remainders(db, account.grants)).to.deep.equal([30, 20, 10])
      expect(await rowOf(db, id)).to.include({
        status: 'failed',
        credits: 0,
        credits_precharged: 45,
        http_status: 502,
        error_type: 'upstream_failed',
      })
    })

    it('does not change the expiry of a valid grant', async () => {
      const account = await anAccount(db, [{ amount: 30, days: 5 }])
      const before = await db('grants').where({ id: account.grants[0] }).first<{ expires_at: Date }>('expires_at')
      await calls.refund(await opened(calls, account, 30), failure)
      expect(await db('grants').where({ id: account.grants[0] }).first('expires_at')).to.deep.equal(before)
    })

    it('frees the idempotency key of a call that could not be enqueued, and keeps that of a failed one', async () => {
      const account = await anAccount(db, 100)
      const more = { idempotency: { key: 'k', seconds: 60 }, requestHash: '00'.repeat(32) }
      await calls.refund(await opened(calls, account, 10, more), gatewayError('service_unavailable'))
      const second = await opened(calls, account, 10, more)
      await calls.refund(second, failure)
      expect(await calls.open(anOrder(account, 10, more))).to.deep.equal({ opened: false, existing: second })
    })

    it('obeys its guards: the newest attempt, none, the deadline', async () => {
      const account = await anAccount(db, 100)
      const id = await opened(calls, account, 10)
      await calls.begin(id)
      expect(await calls.refund(id, failure, { attempt: 0 })).to.equal(null)
      await letLapse(db, id)
      await calls.begin(id)
      expect(await calls.refund(id, failure, { attempt: 1 })).to.equal(null)
      expect(await calls.refund(id, failure, { overdue: true })).to.equal(null)
      expect((await calls.refund(id, failure, { attempt: 2 }))?.status).to.equal('failed')
      const late = await opened(calls, account, 10)
      await db('calls')
        .where({ id: late })
        .update({ deadline_at: db.raw("now() - interval '1 second'") })
      expect((await calls.refund(late, failure, { overdue: true }))?.status).to.equal('failed')
    })
  })

  it('end a call once: the second settlement or refund changes nothing', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 10)
    expect((await calls.settle(id, 'image', aResult(4)))?.status).to.equal('succeeded')
    expect(await calls.settle(id, 'image', aResult(9))).to.equal(null)
    expect(await calls.refund(id, failure)).to.equal(null)
    expect(await calls.begin(id)).to.equal(null)
    expect(await balanceOf(db, account.id)).to.equal(96)
  })

  it('end a call once, if many settle and refund it at one moment, in one batch or in many', async () => {
    const account = await anAccount(db, [{ amount: 500, days: 1 }, { amount: 500 }])
    const others = Array.from({ length: 4 }, () => verbs(db))
    for (let round = 0; round < 5; round++) {
      const id = await opened(calls, account, 20)
      const ends = await Promise.all(
        [calls, calls, ...others].flatMap((one) => [one.settle(id, 'image', aResult(7)), one.refund(id, failure)]),
      )
      expect(ends.filter(Boolean).length).to.equal(1)
    }
    expect(await outstandingOf(db, account.id)).to.equal(0)
  })

  it('never disturb each other: charges, refunds, settlements, grants and expiry together', async () => {
    const account = await anAccount(db, [{ amount: 400, days: 1 }, { amount: 300 }])
    const many = Array.from({ length: 4 }, () => verbs(db))
    await Promise.all(
      Array.from({ length: 120 }, async (_, at) => {
        const one = many[at % many.length]!
        if (at % 10 === 0) await aGrant(db, account.id, { amount: 7, days: 3 })
        if (at % 40 === 1) await letExpire(db, account.grants[0]!).then(() => expireGrants(db, 100))
        const order = anOrder(account, 5)
        const outcome = await one.open(order)
        if (!outcome.opened) return
        if (at % 3 === 0) await one.refund(order.id, failure)
        else await one.settle(order.id, 'image', aResult(at % 9))
      }),
    )
    expect(await outstandingOf(db, account.id)).to.equal(0)
  })
})
