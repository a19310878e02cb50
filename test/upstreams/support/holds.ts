import { expect } from 'chai'
import fc from 'fast-check'
import type { JsonObject } from '../../../src/api/middleware/json-body.ts'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { CountingRules } from '../../../src/shared/terms/pricing.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { report, seed } from '../../crash/scale.ts'
import { contextOf, routeTo } from '../../workers/upstreams/sandbox-upstreams.ts'
import { startBilling } from './billing.ts'
import type { Bill } from './billing.ts'
import { DOCUMENT_TOKENS } from './message-bills.ts'

/** How many requests `npm test` makes; the soak makes ten thousand. */
const REQUESTS = Number(process.env['TOLLGATE_REQUESTS'] ?? 200)

/** What a body becomes: refused before a charge, rejected before it was sent, or sent. */
type Outcome = 'refused' | 'rejected' | Sent

/** A request that was sent, the body that its upstream got, and what decides what may be in it. */
export type Sent = {
  protocol: Protocol
  request: ChatRequest
  sent: Bill['body']
  /** The fields that this upstream may be sent besides. */
  allow: string[]
  /** How its model is counted: with a number for documents, or without. */
  rules: CountingRules
}

type Rules = CountingRules & { upstreams: { allow: string[] }[] }

/** A dialect and its bodies. `allowable`: what an upstream may be allowed. `check`: of every body that is sent. */
type Holding = {
  dialect: Dialect
  protocols: readonly Protocol[]
  bodies: fc.Arbitrary<object>
  allowable: readonly string[]
  parse: (body: JsonObject, model: Rules) => { request: ChatRequest }
  check: (sent: Sent) => void
}

type Asked = {
  protocol: Protocol
  body: object
  allow: string[]
  others: string[]
  clampedTo: number
  isPriced: boolean
}

function askingOf({ protocols, bodies, allowable }: Holding): fc.Arbitrary<Asked> {
  const allow = fc.oneof(
    { weight: 2, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray([...allowable]) },
  )
  return fc.record({
    protocol: fc.constantFrom(...protocols),
    body: bodies,
    allow,
    others: allow,
    clampedTo: fc.integer({ min: 1, max: 100_000 }),
    isPriced: fc.boolean(),
  })
}

type Deps = { upstreams: Upstreams; billing: Awaited<ReturnType<typeof startBilling>> }

/**
 * Sends a body through validation, a queue, the adapter and HTTP, with a limit that was lowered to what can be paid: to
 * one upstream of a model that has another one beside it.
 */
async function play({ upstreams, billing }: Deps, { dialect, parse }: Holding, asked: Asked): Promise<Outcome> {
  const { protocol, body: given, allow, others, clampedTo, isPriced } = asked
  const rules: CountingRules = isPriced ? { partTokens: { document: DOCUMENT_TOKENS } } : {}
  let request: ChatRequest
  try {
    const body = JSON.parse(JSON.stringify(given)) as JsonObject
    request = parse(body, { ...rules, upstreams: [{ allow }, { allow: others }] }).request
  } catch (error) {
    if (error instanceof ApiError) return 'refused'
    throw error
  }
  request = { ...request, max_tokens: Math.min(request.max_tokens, clampedTo) }
  const context = { ...contextOf(routeTo(protocol, `${billing.origin}/v1`, { allow })), dialect }
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
  return { protocol, request, sent: bill.body, allow, rules }
}

/**
 * Declares the test that no body of a dialect is billed for more than is held for it. `title`: what does not pass the
 * hold.
 */
export function holds(what: 'message' | 'response', title: string, holding: Holding): void {
  describe(`the hold of any ${what}`, () => {
    let deps: Deps
    before(async () => {
      deps = { billing: await startBilling(), upstreams: createUpstreams({ accountShare: 1 }) }
    })
    after(async () => {
      await deps.upstreams.close()
      await deps.billing.close()
    })

    it(`is not passed by ${title}`, async () => {
      const startedAt = performance.now()
      const counts = { sent: 0, refused: 0, rejected: 0 }
      await fc.assert(
        fc.asyncProperty(askingOf(holding), async (asked) => {
          const outcome = await play(deps, holding, asked)
          counts[typeof outcome === 'string' ? outcome : 'sent']++
          if (typeof outcome !== 'string') holding.check(outcome)
        }),
        { numRuns: REQUESTS, seed },
      )
      report(
        `${REQUESTS} ${what}s in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${counts.sent} sent, ` +
          `${counts.refused} refused, ${counts.rejected} rejected; seed ${seed}`,
      )
      expect(counts.sent).to.be.above(REQUESTS / 4)
      expect(counts.refused).to.be.above(0)
    }).timeout(180_000 + 60 * REQUESTS)
  })
}
