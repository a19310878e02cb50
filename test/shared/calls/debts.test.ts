import { expect } from 'chai'
import fc from 'fast-check'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'
import { chatCost } from '../../../src/shared/terms/pricing.ts'
import { expireGrants, grant, listEntries } from '../../../src/shared/ledger/ledger.ts'
import { aGrant, anAccount, balanceOf, debtOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, anOrder, letExpire, opened, remainders, verbs, wordOf } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const failure = gatewayError('upstream_failed')

describe('debt', () => {
  const db = useBooks({ pool: 20 })

  /** An account with a balance of zero and this debt, from a call that cost twice its charge. */
  async function aDebtor(debt: number): Promise<TestAccount> {
    const account = await anAccount(db, debt)
    await verbs(db).settle(await opened(verbs(db), account, debt), 'image', aResult(2 * debt))
    expect(await debtOf(db, account.id)).to.equal(debt)
    return account
  }

  const stand = async (id: AccountId): Promise<[balance: number, debt: number]> => [
    await balanceOf(db, id),
    await debtOf(db, id),
  ]

  /** The newest entries of an account, oldest first. */
  async function newest(id: AccountId, count: number): Promise<string[]> {
    const { entries } = await listEntries(db, id, count, null)
    return entries.toReversed().map(({ kind, amount, balanceAfter }) => `${kind} ${amount} = ${balanceAfter}`)
  }

  it('is repaid first by new credits: of 1,000 uncollected by fifty calls, a grant of 400 repays 400', async () => {
    const account = await anAccount(db, 1000)
    const calls = verbs(db)
    const ids = await Promise.all(Array.from({ length: 50 }, () => opened(calls, account, 20)))
    await Promise.all(ids.map((id) => calls.settle(id, 'image', aResult(40))))
    expect(await stand(account.id)).to.deep.equal([0, 1000])
    const id = newId('grant')
    const balance = await db.transaction((trx) =>
      grant(trx, { id, accountId: account.id, origin: 'purchase', amount: 400 }),
    )
    expect(balance, 'the balance that is told').to.equal(0)
    expect(await stand(account.id)).to.deep.equal([0, 600])
    expect(await newest(account.id, 2)).to.deep.equal(['grant 400 = 400', 'collection -400 = 0'])
    expect(await remainders(db, [id])).to.deep.equal([0])
  })

  it('is repaid by a grant of any origin, which leaves the rest to be spent', async () => {
    for (const origin of ['signup', 'purchase', 'bonus', 'adjustment'] as const) {
      const account = await aDebtor(30)
      const grant = await aGrant(db, account.id, { amount: 100, origin, days: 3 })
      expect(await stand(account.id), origin).to.deep.equal([70, 0])
      expect(await remainders(db, [grant])).to.deep.equal([70])
      expect(wordOf(await verbs(db).open(anOrder(account, 70)))).to.equal('opened')
    }
  })

  it('refuses calls, even free ones, until it is repaid', async () => {
    const account = await aDebtor(5)
    for (const amount of [0, 1])
      expect(wordOf(await verbs(db).open(anOrder(account, amount)))).to.equal('insufficient_credits')
    await aGrant(db, account.id, { amount: 4 })
    expect(wordOf(await verbs(db).open(anOrder(account, 0)))).to.equal('insufficient_credits')
    await aGrant(db, account.id, { amount: 1 })
    expect(wordOf(await verbs(db).open(anOrder(account, 0)))).to.equal('opened')
  })

  it('is repaid at once by a refund or a settlement, and the answer has the balance after that', async () => {
    const account = await anAccount(db, [{ amount: 50, days: 1 }, { amount: 50 }])
    const calls = verbs(db)
    const [dear, failed, cheap] = [
      await opened(calls, account, 40),
      await opened(calls, account, 30),
      await opened(calls, account, 30),
    ]
    await calls.settle(dear, 'image', aResult(75))
    expect(await stand(account.id)).to.deep.equal([0, 35])
    expect(await calls.refund(failed, failure)).to.include({ balance: 0 })
    const due = ['refund 20 = 20', 'refund 10 = 30', 'collection -10 = 20', 'collection -20 = 0']
    expect(await newest(account.id, 4)).to.deep.equal(due)
    expect(await stand(account.id)).to.deep.equal([0, 5])
    expect(await calls.settle(cheap, 'image', aResult(12))).to.include({ balance: 13 })
    expect(await newest(account.id, 2)).to.deep.equal(['settlement 18 = 18', 'collection -5 = 13'])
    expect(await stand(account.id)).to.deep.equal([13, 0])
    const rows = await db('calls')
      .whereIn('id', [failed, cheap])
      .orderBy('id')
      .select<{ balance_after: number }[]>('balance_after')
    expect(rows.map((row) => row.balance_after)).to.deep.equal([0, 13])
  })

  it('is not repaid by an expired grant, but by a refund into it', async () => {
    const account = await anAccount(db, [{ amount: 40, days: 1 }, { amount: 10 }])
    const calls = verbs(db)
    const [failed, dear] = [await opened(calls, account, 20), await opened(calls, account, 30)]
    await letExpire(db, account.grants[0]!)
    await calls.settle(dear, 'image', aResult(60))
    expect(await stand(account.id)).to.deep.equal([0, 30])
    await calls.refund(failed, failure)
    expect(await stand(account.id)).to.deep.equal([0, 10])
    await expireGrants(db, 10)
    const late = await aGrant(db, account.id, { amount: 10, days: 1 })
    expect(await remainders(db, [late])).to.deep.equal([0])
    expect(await stand(account.id)).to.deep.equal([0, 0])
  })

  it('is neither lost nor repaid twice when calls end and grants arrive at the same moment', async function () {
    for (let round = 0; round < 4; round++) {
      const account = await anAccount(db, 100)
      const processes = Array.from({ length: 3 }, () => verbs(db))
      const ids = await Promise.all(Array.from({ length: 20 }, () => opened(processes[0]!, account, 5)))
      await Promise.all([
        ...ids.map((id, at) =>
          at % 4 === 0 ? processes[at % 3]!.refund(id, failure) : processes[at % 3]!.settle(id, 'image', aResult(at)),
        ),
        ...[7, 11, 13].map((amount) => aGrant(db, account.id, { amount })),
      ])
      const cost = ids.reduce((sum, _, at) => sum + (at % 4 === 0 ? 0 : Math.min(at, 10)), 0)
      const [balance, debt] = await stand(account.id)
      expect(balance - debt, 'every credit is accounted for').to.equal(131 - cost)
      expect(Math.min(balance, debt), 'debt beside a balance').to.equal(0)
    }
  })

  // Where an upstream counts a token for each byte, it bills three times the input that was charged for; a call costs
  // at most twice its charge.
  it('is at most the balance, if upstreams bill a token a byte and the allowed output', async function () {
    const price = fc.record({
      input: fc.nat(20),
      output: fc.nat(20),
      perTokens: fc.constantFrom(1, 7, 1000),
      minimum: fc.nat(3),
    })
    const call = fc.record({
      bytes: fc.integer({ min: 1, max: 6000 }),
      maxTokens: fc.integer({ min: 1, max: 500 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(
        price,
        fc.integer({ min: 1, max: 3000 }),
        fc.array(call, { minLength: 1, maxLength: 8 }),
        async (pricing, balance, wanted) => {
          const account = await anAccount(db, balance)
          const calls = verbs(db)
          const open: { id: CallId; cost: number }[] = []
          for (const { bytes, maxTokens, share } of wanted) {
            const amount = chatCost(pricing, { input: Math.ceil(bytes / 3), output: maxTokens })
            const order = anOrder(account, amount, { price: pricing })
            if (!(await calls.open(order)).opened) continue
            open.push({
              id: order.id,
              cost: chatCost(pricing, { input: bytes, output: Math.floor(maxTokens * share) }),
            })
          }
          await Promise.all(open.map(({ id, cost }) => calls.settle(id, 'image', aResult(cost))))
          expect(await debtOf(db, account.id)).to.be.at.most(balance)
        },
      ),
      { numRuns: 15 },
    )
  })
})

describe('the requests of an account that Redis holds', () => {
  const db = useBooks({ pool: 20 })

  const bounded = () => verbs(db, 1_000_000, 1000)
  const bytesOf = async (id: AccountId): Promise<number> =>
    (await db('accounts').where({ id }).first<{ request_bytes: number }>('request_bytes')).request_bytes

  it('are counted while their calls are open, to the byte', async () => {
    const account = await anAccount(db, 100)
    const [one, two] = [
      await opened(bounded(), account, 1, { requestBytes: 300 }),
      await opened(bounded(), account, 1, { requestBytes: 77 }),
    ]
    expect(await bytesOf(account.id)).to.equal(377)
    await bounded().settle(one, 'image', aResult(1))
    expect(await bytesOf(account.id)).to.equal(77)
    await bounded().refund(two, failure)
    expect(await bytesOf(account.id)).to.equal(0)
  })

  it('are limited in bytes: more is refused before a charge, and accepted when another has ended', async () => {
    const account = await anAccount(db, 100)
    const first = await opened(bounded(), account, 1, { requestBytes: 600 })
    expect(wordOf(await bounded().open(anOrder(account, 1, { requestBytes: 401 })))).to.equal('too_many_bytes')
    expect(await balanceOf(db, account.id)).to.equal(99)
    await opened(bounded(), account, 1, { requestBytes: 400 })
    await bounded().settle(first, 'image', aResult(1))
    expect(wordOf(await bounded().open(anOrder(account, 1, { requestBytes: 401 })))).to.equal('opened')
  })

  it('never exceed that, however many are sent at once from several processes', async () => {
    const account = await anAccount(db, 1000)
    const processes = Array.from({ length: 3 }, bounded)
    const words = await Promise.all(
      Array.from({ length: 60 }, async (_, at) =>
        wordOf(await processes[at % 3]!.open(anOrder(account, 1, { requestBytes: 90 }))),
      ),
    )
    expect(words.filter((word) => word === 'opened')).to.have.length(11)
    expect(words.filter((word) => word === 'too_many_bytes')).to.have.length(49)
    expect(await bytesOf(account.id)).to.equal(990)
  })
})
