import { expect } from 'chai'
import fc from 'fast-check'
import type { JsonObject } from '../../src/api/middleware/json-body.ts'
import { parseResponses } from '../../src/api/v1/responses/body.ts'
import { estimateResponses } from '../../src/shared/dialects/responses/estimate.ts'
import { DEARER_FIELDS, FREE_VALUES } from '../../src/shared/dialects/responses/fields.ts'
import { ApiError } from '../../src/shared/platform/errors.ts'
import type { ChatRequest } from '../../src/shared/requests/requests.ts'
import { UpstreamError } from '../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../src/workers/upstreams/registry.ts'
import { report, seed } from '../crash/scale.ts'
import { contextOf, routeTo } from '../workers/upstreams/sandbox-upstreams.ts'
import { startBilling } from './support/billing.ts'
import type { Bill } from './support/billing.ts'
import { responseBodies } from './support/response-bodies.ts'
import { DOCUMENT_TOKENS, inputTokensOf } from './support/message-bills.ts'
import { hostedToolsIn, modesIn, responseInputTokensOf } from './support/response-bills.ts'

/** How many requests `npm test` makes; the soak makes twenty thousand. */
const REQUESTS = Number(process.env['TOLLGATE_REQUESTS'] ?? 500)

const PRICED = { partTokens: { document: DOCUMENT_TOKENS } }

/** What a body becomes: refused before a charge, rejected before it was sent, or sent. */
type Outcome = 'refused' | 'rejected' | { request: ChatRequest; sent: Bill['body'] }

type Asked = {
  protocol: 'openai' | 'anthropic' | 'responses'
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
    arbitrary: fc.subarray([...Object.keys(DEARER_FIELDS), 'reasoning.mode']),
  },
)
const asking = fc.record({
  protocol: fc.constantFrom('openai' as const, 'anthropic' as const, 'responses' as const),
  body: responseBodies,
  allow,
  others: allow,
  clampedTo: fc.integer({ min: 1, max: 100_000 }),
  isPriced: fc.boolean(),
}) as fc.Arbitrary<Asked>

describe('the hold of any response', () => {
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
      request = parseResponses(body, model).request
    } catch (error) {
      if (error instanceof ApiError) return 'refused'
      throw error
    }
    request = { ...request, max_tokens: Math.min(request.max_tokens, clampedTo) }
    const context = {
      ...contextOf(routeTo(protocol, `${billing.origin}/v1`, { allow: own })),
      dialect: 'responses' as const,
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

  it('is not passed by any field, item, part or tool of its body', async () => {
    const startedAt = performance.now()
    await always(({ protocol, allow: own, isPriced }, request, sent) => {
      const limits = [sent.max_tokens, sent.max_completion_tokens, sent.max_output_tokens]
      expect(
        limits.filter((limit) => limit !== undefined),
        'the limits of the output',
      ).to.deep.equal([request.max_tokens])
      expect(sent, 'other limits').to.not.have.any.keys('n', 'models', 'previous_response_id', 'background')
      for (const name of Object.keys(DEARER_FIELDS)) {
        if (sent[name] === undefined || own.includes(name)) continue
        expect(
          [...(FREE_VALUES[name] ?? []), 'standard_only'],
          `${name}, which this upstream may not be sent`,
        ).to.include(sent[name])
      }
      expect(hostedToolsIn(sent), 'tools that the upstream runs').to.deep.equal([])
      if (!own.includes('reasoning.mode')) expect(modesIn(sent), 'modes and tiers').to.deep.equal([])
      if (protocol === 'responses') expect(sent.store, 'what the upstream keeps').to.equal(false)
      const billed = protocol === 'responses' ? responseInputTokensOf(sent, isPriced) : inputTokensOf(sent, isPriced)
      const held = estimateResponses(request, isPriced ? PRICED : {}).input
      expect(held, 'the input that is held').to.be.at.least(billed)
    })
    report(
      `${REQUESTS} responses in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${counts.sent} sent, ` +
        `${counts.refused} refused, ${counts.rejected} rejected; seed ${seed}`,
    )
    expect(counts.sent).to.be.above(REQUESTS / 4)
    expect(counts.refused).to.be.above(0)
  }).timeout(180_000 + 60 * REQUESTS)
})
