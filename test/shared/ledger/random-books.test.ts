import { expect } from 'chai'
import fc from 'fast-check'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { deduct } from '../../../src/shared/ledger/deductions.ts'
import { expireGrants } from '../../../src/shared/ledger/ledger.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aGrant, anAccount, balanceOf, debtOf } from '../../../scripts/harness/factories.ts'
import { aResult, anOrder, letExpire, letPass, outstandingOf, remainders, verbs } from '../calls/opening.ts'
import { useBooks } from '../../support/database.ts'
import { oneOf } from '../../crash/simulator.ts'

/** `revived`: when it expires if something comes back past its time; null: too late for that, or it never expired. */
type Grant = { left: number; expires: number; expiredOnce: boolean; revived: number | null }
type Call = { id: CallId; taken: number[] }

/**
 * The rules of the money, a second time: in which order grants pay, and which get back what. They are in the order in
 * which they were made.
 */
class Model {
  grants: Grant[] = []
  expiries = 0
  debt = 0
  inBurnOrder = (): number[] =>
    [...this.grants.keys()].toSorted((a, b) => this.grants[a]!.expires - this.grants[b]!.expires || a - b)
  spendable = (): number => this.grants.reduce((sum, grant) => sum + (grant.expires > 0 ? grant.left : 0), 0)
  take(amount: number): number[] {
    const taken = this.grants.map(() => 0)
    for (const at of this.inBurnOrder().filter((one) => this.grants[one]!.expires > 0)) {
      taken[at] = Math.min(this.grants[at]!.left, amount)
      this.grants[at]!.left -= taken[at]
      amount -= taken[at]
    }
    return taken
  }
  /** What can be spent repays the debt. */
  repay(): void {
    this.debt -= sum(this.take(Math.min(this.debt, this.spendable())))
  }
  giveBack({ taken }: Call, amount: number, order: number[]): void {
    for (const at of order.toReversed()) {
      const back = Math.min(taken[at] ?? 0, amount)
      amount -= back
      const grant = this.grants[at]!
      if (grant.expires <= 0 && grant.revived === null) continue
      grant.left += back
      if (back > 0 && grant.expires <= 0) grant.expires = grant.revived!
    }
  }
  /** The first time that a grant expires; from the second on a day has passed since then. @returns whether it has. */
  expire(at: number): boolean {
    const isOver = this.grants[at]!.expiredOnce
    // What comes back within the day lives a day from then: the grant that expired first burns first.
    this.grants[at] = { left: 0, expires: 0, expiredOnce: true, revived: isOver ? null : 1 + ++this.expiries * 1e-6 }
    return isOver
  }
}

type Step =
  | { do: 'open'; amount: number }
  | { do: 'settle'; call: number; cost: number }
  | { do: 'refund'; call: number }
  | { do: 'grant'; amount: number; days: number | null }
  | { do: 'expire'; grant: number }
  | { do: 'deduct'; amount: number; mayOwe: boolean }

const step = oneOf<Step>(
  [5, ['open'], { amount: fc.integer({ min: 0, max: 40 }) }],
  [3, ['settle'], { call: fc.nat(20), cost: fc.integer({ min: 0, max: 120 }) }],
  [3, ['refund'], { call: fc.nat(20) }],
  [2, ['grant'], { amount: fc.integer({ min: 1, max: 50 }), days: fc.option(fc.integer({ min: 2, max: 9 })) }],
  [1, ['expire'], { grant: fc.nat(5) }],
  [1, ['deduct'], { amount: fc.integer({ min: 1, max: 60 }), mayOwe: fc.boolean() }],
)

const failure = gatewayError('upstream_failed')

describe('the books under any sequence of movements', () => {
  const db = useBooks()

  async function addGrant(model: Model, account: TestAccount, amount: number, days: number | null): Promise<void> {
    account.grants.push(await aGrant(db, account.id, { amount, ...(days !== null && { days }) }))
    model.grants.push({ left: amount, expires: days ?? Infinity, expiredOnce: false, revived: null })
  }

  const take = ({ id: accountId }: TestAccount, { amount, mayOwe }: { amount: number; mayOwe: boolean }) =>
    db.transaction((trx) =>
      deduct(trx, { id: newId('deduction'), accountId, amount, mayOwe, reason: 'a step', key: null }),
    )

  it('agree with a model of ten lines, to every credit of every grant', async function () {
    const calls = verbs(db)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const model = new Model()
        const account = await anAccount(db)
        await addGrant(model, account, 30, 3)
        await addGrant(model, account, 30, null)
        const open: (Call & { order: number[]; amount: number })[] = []
        for (const one of steps) {
          const call = 'call' in one && open.length > 0 ? open.splice(one.call % open.length, 1)[0]! : null
          if (one.do === 'open') {
            const order = anOrder(account, one.amount)
            const isAffordable = one.amount <= model.spendable() && model.debt === 0
            expect((await calls.open(order)).opened).to.equal(isAffordable)
            // The current order: a grant that is revived later changes its place.
            const burnOrder = model.inBurnOrder()
            if (isAffordable)
              open.push({ id: order.id, order: burnOrder, amount: one.amount, taken: model.take(one.amount) })
          } else if (one.do === 'settle' && call) {
            const { credits, uncollected } = await settled(call, one.cost)
            const due = Math.min(one.cost, 2 * call.amount)
            if (due < call.amount) model.giveBack(call, call.amount - due, call.order)
            const collected = due > call.amount ? sum(model.take(Math.min(due - call.amount, model.spendable()))) : 0
            const left = Math.max(0, due - call.amount - collected)
            model.debt += left
            expect([credits, uncollected]).to.deep.equal([due - left, left])
          } else if (one.do === 'refund' && call) {
            await calls.refund(call.id, failure)
            model.giveBack(call, call.amount, call.order)
          } else if (one.do === 'grant') await addGrant(model, account, one.amount, one.days)
          else if (one.do === 'deduct') {
            const spendable = model.spendable()
            const isTaken = one.mayOwe || one.amount <= spendable
            expect((await take(account, one))?.is).to.equal(isTaken ? 'deducted' : 'too_little')
            if (isTaken) {
              model.take(Math.min(one.amount, spendable))
              model.debt += Math.max(0, one.amount - spendable)
            }
          } else if (one.do === 'expire') {
            const at = one.grant % model.grants.length
            if (model.expire(at)) await letPass(db, account.grants[at]!, 24)
            else await letExpire(db, account.grants[at]!)
            await expireGrants(db, 1000)
          }
          model.repay()
          expect(await debtOf(db, account.id)).to.equal(model.debt)
          expect(await remainders(db, account.grants)).to.deep.equal(model.grants.map((grant) => grant.left))
        }
        expect(await balanceOf(db, account.id)).to.equal(model.spendable())
        expect(await outstandingOf(db, account.id)).to.equal(open.length)
      }),
      { numRuns: 15 },
    )

    async function settled(call: Call, cost: number): Promise<{ credits: number; uncollected: number }> {
      await calls.settle(call.id, 'image', aResult(cost))
      return await db('calls')
        .where({ id: call.id })
        .first<{ credits: number; uncollected: number }>('credits', 'credits_uncollected as uncollected')
    }
  })
})

const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0)
