import { expect } from 'chai'
import fc from 'fast-check'
import type { JsonObject } from '../../src/api/middleware/json-body.ts'
import { checkChat } from '../../src/shared/chat/completions/check.ts'
import type { CountedChat } from '../../src/shared/chat/completions/estimate.ts'
import { estimateChat } from '../../src/shared/chat/completions/estimate.ts'
import { ApiError } from '../../src/shared/platform/errors.ts'
import { chatCost } from '../../src/shared/terms/pricing.ts'
import type { ChatRequest } from '../../src/shared/requests/requests.ts'
import { UpstreamError } from '../../src/workers/upstreams/adapter.ts'
import type { UpstreamUsage } from '../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../src/workers/upstreams/registry.ts'
import { seed, report } from '../crash/scale.ts'
import { contextOf, routeTo } from '../workers/upstreams/sandbox-upstreams.ts'
import { startBilling } from './support/billing.ts'
import type { Bill } from './support/billing.ts'
import { chatBodies } from './support/chat-bodies.ts'
import type { Asked } from './support/chat-bodies.ts'

/** How many requests `npm test` makes; the soak makes ten thousand. */
const REQUESTS = Number(process.env['TOLLGATE_REQUESTS'] ?? 200)

/** The longest body that the gateway reads. */
const MAX_BYTES = 1_048_576

/** Every token has a price, so that rounding hides none. */
const PRICE = { input: 1, output: 2, perTokens: 1, minimum: 0 }

const ALLOWED = ['thinking', 'service_tier']
const MODEL = {
  maxOutputTokens: 4096,
  partTokens: { input_audio: 0, file: 0, video: 0 },
  upstreams: [{ allow: ALLOWED }],
}

/** A copy as JSON of a request or a queue would be. */
const copied = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** The outcome of a request: refused before a charge, rejected before it was sent, or billed. */
type Outcome = 'refused' | 'rejected' | { precharge: number; cost: number; reported: number }

describe('the pre-charge of any chat', () => {
  let upstreams: Upstreams
  let billing: Awaited<ReturnType<typeof startBilling>>
  before(async () => {
    billing = await startBilling()
    upstreams = createUpstreams({ accountShare: 1 })
  })
  after(async () => {
    await upstreams.close()
    await billing.close()
  })

  /** Sends the request through validation, a queue, the adapter and HTTP. */
  async function play({ protocol, body: given }: Asked): Promise<Outcome> {
    const text = JSON.stringify(given)
    if (Buffer.byteLength(text) > MAX_BYTES) return 'refused'
    const body = JSON.parse(text) as JsonObject
    let request: ChatRequest
    try {
      request = copied(checkChat(body, MODEL))
    } catch (error) {
      if (error instanceof ApiError) return 'refused'
      throw error
    }
    const precharge = chatCost(PRICE, estimateChat(body as CountedChat, MODEL))
    try {
      const usage = await ask(protocol, request)
      const [bill] = billing.takeBills() as [Bill]
      return { precharge, cost: chatCost(PRICE, bill), reported: chatCost(PRICE, usage!) }
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'rejected' && billing.takeBills().length === 0)
        return 'rejected'
      throw error
    }
  }

  async function ask(protocol: Asked['protocol'], request: ChatRequest): Promise<UpstreamUsage | null> {
    const context = contextOf(routeTo(protocol, `${billing.origin}/v1`, { allow: ALLOWED }))
    const adapter = upstreams.adapterOf(protocol).chat!
    if (request.stream !== true) return (await adapter.chat(request, context)).usage
    let usage: UpstreamUsage | null = null
    await adapter.streamChat(request, context, (event) => {
      if (event.type === 'usage') usage = event.usage
    })
    return usage
  }

  it('covers a bill for every byte and all output, or the request is refused before a charge', async () => {
    const counts = { billed: 0, refused: 0, rejected: 0 }
    const startedAt = performance.now()
    await fc.assert(
      fc.asyncProperty(chatBodies, async (asked) => {
        const outcome = await play(asked)
        if (typeof outcome === 'string') {
          counts[outcome]++
          return
        }
        counts.billed++
        expect(outcome.reported, 'what the adapter was told').to.equal(outcome.cost)
        expect(outcome.precharge, 'the pre-charge').to.be.at.least(outcome.cost)
      }),
      { numRuns: REQUESTS, seed },
    )
    report(
      `${REQUESTS} chats in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${counts.billed} billed, ` +
        `${counts.refused} refused, ${counts.rejected} rejected; seed ${seed}`,
    )
    // If no request were served, this would prove little.
    expect(counts.billed).to.be.above(REQUESTS / 5)
    expect(counts.refused).to.be.above(0)
  }).timeout(180_000 + 60 * REQUESTS)
})
