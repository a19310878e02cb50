import { expect } from 'chai'
import fc from 'fast-check'
import { loweringOf, leastChargeOf, withinFunds } from '../../../../src/api/v1/calls/call-order.ts'
import type { CallOrder } from '../../../../src/api/v1/calls/call-order.ts'
import type { Funds, Source } from '../../../../src/shared/identity/summary.ts'
import { chatCharge } from '../../../../src/shared/terms/pricing.ts'
import { seed } from '../../../crash/scale.ts'

const PRICE = { input: 1, output: 3, perTokens: 1, minimum: 1 }
const INPUT = 100
const LEAST = 4096

/** A chat of 100 input tokens whose limit may be lowered. */
function anOrder(limit: number): CallOrder {
  const estimate = { input: INPUT, output: limit }
  const lowerTo = loweringOf(PRICE, { limit, choices: 1, estimate })
  const request = { max_tokens: limit, messages: [] } as unknown as CallOrder['request']
  return { request, estimate, charge: chatCharge(PRICE, estimate), lowerTo, body: {} } as unknown as CallOrder
}

const funds = (spendable: Source, budgets: Partial<Pick<Funds, 'keyBudget' | 'memberBudget'>> = {}): Funds => ({
  balance: spendable.left,
  debt: 0,
  spendable,
  keyBudget: null,
  memberBudget: null,
  hasTopUp: false,
  ...budgets,
})

const within = (order: CallOrder, available: Funds) => withinFunds(order, available, { tokens: Infinity, least: LEAST })

describe('a limit of output that is lowered to what can be paid', () => {
  it('takes half of what is free at most, and more only for the least output tokens', () => {
    const limits = fc.integer({ min: 1, max: 128_000 })
    const sources = fc.record({ left: fc.nat(400_000), held: fc.nat(400_000) })
    const budgets = fc.option(sources)
    fc.assert(
      fc.property(limits, sources, budgets, budgets, (limit, spendable, keyBudget, memberBudget) => {
        const order = anOrder(limit)
        const found = within(order, funds(spendable, { keyBudget, memberBudget }))
        const limiting = [spendable, keyBudget, memberBudget].filter((source) => source !== null)
        const free = Math.min(...limiting.map(({ left }) => left))
        const later = Math.min(...limiting.map(({ left, held }) => left + held))
        const leastCharge = leastChargeOf(order, LEAST)
        expect(leastCharge).to.equal(INPUT + 3 * Math.min(limit, LEAST))
        if (order.charge <= free || leastCharge > later) {
          expect(found, 'the whole limit fits, or not even the least').to.equal(order.charge <= free ? order : null)
          return
        }
        const { charge, leaves = 0, request } = found!
        expect(charge).to.equal(INPUT + 3 * (request as { max_tokens: number }).max_tokens)
        expect(charge).to.be.at.least(leastCharge)
        if (charge > leastCharge) {
          expect(2 * charge).to.be.at.most(free)
          expect(2 * (charge + 3), 'one token more would be more than half').to.be.above(free - 1)
        }
        expect(leaves, 'as much is left for others').to.equal(2 * charge <= free ? charge : 0)
      }),
      { seed },
    )
  })

  it('is half of what is free, even if the whole limit exceeds it by one credit', () => {
    const order = anOrder(16_000)
    expect(order.charge).to.equal(48_100)
    expect(within(order, funds({ left: 48_100, held: 0 }))).to.equal(order)
    expect(within(order, funds({ left: 48_099, held: 0 }))).to.include({ charge: 24_049, leaves: 24_049 })
  })

  it('is none at all in debt, on a budget that is spent, or where the limit must not be lowered', () => {
    const order = anOrder(16_000)
    const plenty = { left: 30_000, held: 30_000 }
    expect(within(order, { ...funds(plenty), debt: 1 })).to.equal(null)
    expect(within(order, funds(plenty, { keyBudget: { left: 0, held: 0 } }))).to.equal(null)
    expect(within(order, funds(plenty, { memberBudget: { left: -5, held: 5 } }))).to.equal(null)
    const { lowerTo: _, ...fixed } = order
    expect(within(fixed, funds(plenty))).to.equal(null)
  })
})
