import { expect } from 'chai'
import fc from 'fast-check'
import type { JsonObject } from '../../src/api/middleware/json-body.ts'
import { parseMessages } from '../../src/api/v1/messages/body.ts'
import { estimateMessages } from '../../src/shared/dialects/messages/estimate.ts'
import { DEARER_FIELDS, FREE_VALUES } from '../../src/shared/dialects/messages/fields.ts'
import { ApiError } from '../../src/shared/platform/errors.ts'
import type { ChatRequest } from '../../src/shared/requests/requests.ts'
import { UpstreamError } from '../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../src/workers/upstreams/registry.ts'
import { report, seed } from '../crash/scale.ts'
import { contextOf, routeTo } from '../workers/upstreams/sandbox-upstreams.ts'
import { startBilling } from './support/billing.ts'
import type { Bill } from './support/billing.ts'
import { messageBodies } from './support/message-bodies.ts'
import { DOCUMENT_TOKENS, hostedIn, inputTokensOf, longCachesIn } from './support/message-bills.ts'

/** How many requests `npm test` makes; the soak makes twenty thousand. */
const REQUESTS = Number(process.env['TOLLGATE_REQUESTS'] ?? 500)

const PRICED = { partTokens: { document: DOCUMENT_TOKENS } }

/** What a body becomes: refused before a charge, rejected before it was sent, or sent. */
type Outcome = 'refused' | 'rejected' | { request: ChatRequest; sent: Bill['body'] }

type Asked = {
  protocol: 'openai' | 'anthropic'
  body: JsonObject
  allow: string[]
  others: string[]
  clampedTo: number
  /** Whether the model has a number for documents. */
  isPriced: boolean
}

const allow = fc.oneof(
  { weight: 2, arbitrary: fc.constant<string[]>([]) },
  {
    weight: 1,
    arbitrary: fc.subarray([...Object.keys(DEARER_FIELDS), 'cache_control.ttl', 'thinking']),
  },
)
const asking = fc.record({
  protocol: fc.constantFrom('openai' as const, 'anthropic' as const),
  body: messageBodies,
  allow,
  others: allow,
  clampedTo: fc.integer({ min: 1, max: 100_000 }),
  isPriced: fc.boolean(),
}) as fc.Arbitrary<Asked>

describe('the hold of any message', () => {
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

  /**
   * Sends a body through validation, a queue, the adapter and HTTP, with a limit that was lowered to what can be paid:
   * to one upstream of a model that has another one beside it.
   */
  async function play(asked: Asked): Promise<Outcome> {
    const { protocol, body: given, allow: own, others, clampedTo, isPriced } = asked
    const model = { ...(isPriced && PRICED), upstreams: [{ allow: own }, { allow: others }] }
    let request: ChatRequest
    try {
      const body = JSON.parse(JSON.stringify(given)) as JsonObject
      request = parseMessages(body, model).request
    } catch (error) {
      if (error instanceof ApiError) return 'refused'
      throw error
    }
    request = { ...request, max_tokens: Math.min(request.max_tokens, clampedTo) }
    const context = {
      ...contextOf(routeTo(protocol, `${billing.origin}/v1`, { allow: own })),
      dialect: 'messages' as const,
    }
    const adapter = upstreams.adapterOf(protocol).chat!
    const copy = JSON.parse(JSON.stringify(request)) as ChatRequest
    try {
      if (copy.stream !== true) await adapter.chat(copy, context)
      else await adapter.streamChat(copy, context, () => {})
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'rejected' && billing.takeBills().length === 0)
        return 'rejected'
      throw error
    }
    const [bill] = billing.takeBills() as [Bill]
    return { request, sent: bill.body }
  }

  const counts = { sent: 0, refused: 0, rejected: 0 }
  /** Checks what is sent of every body that is. */
  const always = (check: (asked: Asked, request: ChatRequest, sent: Bill['body']) => void): Promise<void> =>
    fc.assert(
      fc.asyncProperty(asking, async (asked) => {
        const outcome = await play(asked)
        counts[typeof outcome === 'string' ? outcome : 'sent']++
        if (typeof outcome !== 'string') check(asked, outcome.request, outcome.sent)
      }),
      { numRuns: REQUESTS, seed },
    )

  it('is not passed by any field, block or tool of its body', async () => {
    const startedAt = performance.now()
    await always(({ protocol, allow: own, isPriced }, request, sent) => {
      expect(sent.max_tokens, 'the limit of the output').to.equal(request.max_tokens)
      expect(sent, 'other limits').to.not.have.any.keys('n', 'max_completion_tokens', 'max_output_tokens', 'models')
      const { budget_tokens: budget = 0 } = (sent.thinking ?? {}) as { budget_tokens?: number }
      expect(budget, 'the budget of thinking').to.be.below(request.max_tokens)
      for (const name of Object.keys(DEARER_FIELDS)) {
        if (sent[name] === undefined || own.includes(name)) continue
        expect(FREE_VALUES[name], `${name}, which this upstream may not be sent`).to.include(sent[name])
      }
      if (protocol === 'anthropic') expect(sent.service_tier, 'the tier').to.be.a('string')
      expect(hostedIn(sent), 'tools that the upstream runs').to.deep.equal([])
      if (!own.includes('cache_control.ttl')) expect(longCachesIn(sent), 'caches for an hour').to.equal(0)
      const held = estimateMessages(request, isPriced ? PRICED : {}).input
      expect(held, 'the input that is held').to.be.at.least(inputTokensOf(sent, isPriced))
    })
    report(
      `${REQUESTS} messages in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${counts.sent} sent, ` +
        `${counts.refused} refused, ${counts.rejected} rejected; seed ${seed}`,
    )
    expect(counts.sent).to.be.above(REQUESTS / 4)
    expect(counts.refused).to.be.above(0)
  }).timeout(180_000 + 60 * REQUESTS)
})
