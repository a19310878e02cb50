import { expect } from 'chai'
import { inList } from '../../../../src/api/v1/calls/asked-models.ts'
import { lowered, loweringOf } from '../../../../src/api/v1/calls/call-order.ts'
import type { CallOrder } from '../../../../src/api/v1/calls/call-order.ts'
import { chatCharge } from '../../../../src/shared/terms/pricing.ts'

/** A chat of a model that costs `output` credits a token of output. */
function anOrder(id: string, output: number, limit: number, input: number, mayBeLowered = true): CallOrder {
  const price = { input: 0, output, perTokens: 1, perCall: 0, minimum: 1 }
  const estimate = { input, output: limit }
  return {
    model: { id, price, routes: [{ model: id }] },
    request: { max_tokens: limit, messages: [] },
    estimate,
    charge: chatCharge(price, estimate),
    lowerTo: mayBeLowered ? loweringOf(price, { limit, choices: 1, estimate }) : undefined,
    body: {},
  } as unknown as CallOrder
}

const limitsOf = ({ models = [] }: Pick<CallOrder, 'models'>) => models.map(({ maxTokens }) => maxTokens)

describe('a list of models', () => {
  const cheap = anOrder('cheap', 1, 20_000, 100)
  const dear = anOrder('dear', 3, 20_000, 50)
  const fixed = anOrder('fixed', 2, 1024, 200, false)
  const LEAST = 4096

  it('is charged as the dearest, reserves the most tokens of any, and asks what the first is asked', () => {
    const order = inList([cheap, dear, fixed])
    expect(order.charge).to.equal(60_000)
    expect(order.estimate).to.deep.equal({ input: 200, output: 20_000 })
    expect(order.request).to.equal(cheap.request)
    expect(order.model.id).to.equal('cheap')
    expect(order.model.routes.map(({ model }) => model)).to.deep.equal(['cheap', 'dear', 'fixed'])
    expect(limitsOf(order)).to.deep.equal([20_000, 20_000, 1024])
    expect(inList([cheap])).to.equal(cheap)
  })

  it('is lowered for each model by itself, and stays in the session of each', () => {
    const order = inList([cheap, dear, fixed])
    const less = order.lowerTo!({ credits: 30_000, share: 30_000, tokens: Infinity }, LEAST)!
    const session = { digest: 'x', seconds: 600 }
    const next = lowered({ ...order, models: order.models!.map((one) => ({ ...one, session })) }, less)
    expect(limitsOf(next)).to.deep.equal([20_000, 10_000, 1024])
    expect(next.charge).to.equal(30_000)
    expect(next.request).to.include({ max_tokens: 20_000 })
    expect(next.models!.map((one) => one.session)).to.deep.equal([session, session, session])
  })

  it('is not lowered where one of its models cannot be paid, or none may be lowered', () => {
    const bounds = { credits: 3 * LEAST - 1, share: Infinity, tokens: Infinity }
    expect(inList([cheap, dear]).lowerTo!(bounds, LEAST)).to.equal(null)
    expect(inList([cheap, fixed]).lowerTo!({ ...bounds, credits: 2047 }, 1000)).to.equal(null)
    expect(inList([cheap, fixed]).lowerTo!({ ...bounds, tokens: 1200 }, 1000)).to.equal(null)
    expect(inList([fixed, fixed]).lowerTo).to.equal(undefined)
  })
})
