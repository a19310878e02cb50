import { expect } from 'chai'
import fc from 'fast-check'
import type { JsonObject } from '../../../src/api/middleware/json-body.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { BodyRules } from '../../../src/shared/chat/check-body.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { asked as askedOf } from '../../../src/workers/upstreams/protocol.ts'
import { report, seed } from '../../crash/scale.ts'
import { contextOf, routeTo } from '../../workers/upstreams/sandbox-upstreams.ts'
import { PARTS } from '../../workers/upstreams/translated.ts'
import type { Protocol } from '../../workers/upstreams/translated.ts'
import { DOCUMENT_TOKENS } from './bills.ts'

/** How many requests `npm test` makes; the soak makes ten thousand. */
const REQUESTS = Number(process.env['TOLLGATE_REQUESTS'] ?? 200)

/** The longest body that the gateway reads. */
const MAX_BYTES = 1_048_576

/** A body, the request that it became, the body that its upstream was sent, and what decides what may be in that. */
export type Sent = {
  protocol: Protocol
  body: JsonObject
  request: ChatRequest
  sent: Fields
  /** The fields that this upstream may be sent besides. */
  allow: string[]
  /** How its model is counted: with a number for documents, or without. */
  rules: BodyRules
}

/** A dialect and its bodies. `allowable`: what an upstream may be allowed. `check`: of every body that is sent. */
type Holding = {
  dialect: Dialect
  protocols: readonly Protocol[]
  bodies: fc.Arbitrary<object>
  allowable: readonly string[]
  /** What every model states; by default whether documents have a number is tried both ways. */
  model?: Partial<BodyRules>
  parse: (body: JsonObject, model: BodyRules) => ChatRequest
  /** The limit of the output that is sent, of one to which it is to be lowered. */
  limited?: (request: ChatRequest, limit: number) => ChatRequest
  check: (sent: Sent) => void
}

type Asked = {
  protocol: Protocol
  body: object
  allow: string[]
  others: string[]
  limit: number
  isPriced: boolean
}

function askingOf({ protocols, bodies, allowable }: Holding): fc.Arbitrary<Asked> {
  const allow = fc.oneof(
    { weight: 2, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray([...allowable]) },
  )
  const limit = fc.integer({ min: 1, max: 100_000 })
  const protocol = fc.constantFrom(...protocols)
  return fc.record({ protocol, body: bodies, allow, others: allow, limit, isPriced: fc.boolean() })
}

/** A limit that was lowered to what can be paid. */
export const lowered = (request: ChatRequest, limit: number): ChatRequest => ({
  ...request,
  max_tokens: Math.min(request.max_tokens, limit),
})

/** Brings a body through validation, a queue and the protocol of one upstream, beside which its model has another. */
function play({ dialect, parse, model, limited }: Holding, asked: Asked): 'refused' | 'rejected' | Sent {
  const { protocol, body: given, allow, others, limit, isPriced } = asked
  const priced = isPriced ? { partTokens: { document: DOCUMENT_TOKENS } } : {}
  const rules: BodyRules = { ...(model ?? priced), upstreams: [{ allow }, { allow: others }] }
  const text = JSON.stringify(given)
  if (Buffer.byteLength(text) > MAX_BYTES) return 'refused'
  const body = JSON.parse(text) as JsonObject
  try {
    const parsed = JSON.parse(JSON.stringify(parse(body, rules))) as ChatRequest
    const request = limited ? limited(parsed, limit) : parsed
    const context = { ...contextOf(routeTo(protocol, 'http://x.test', { allow })), dialect }
    const sent = JSON.stringify(askedOf(PARTS[protocol], request, context, request.stream === true).body)
    return { protocol, body, request, sent: JSON.parse(sent) as Fields, allow, rules }
  } catch (error) {
    if (error instanceof ApiError) return 'refused'
    if (error instanceof UpstreamError && error.kind === 'rejected') return 'rejected'
    throw error
  }
}

/** Declares the test that no body of a dialect is billed for more than is held for it. */
export function holds(what: 'chat' | 'message' | 'response' | 'content', title: string, holding: Holding): void {
  describe(`the hold of any ${what}`, () => {
    it(title, () => {
      const startedAt = performance.now()
      const counts = { sent: 0, refused: 0, rejected: 0 }
      fc.assert(
        fc.property(askingOf(holding), (asked) => {
          const outcome = play(holding, asked)
          counts[typeof outcome === 'string' ? outcome : 'sent']++
          if (typeof outcome !== 'string') holding.check(outcome)
        }),
        { numRuns: REQUESTS, seed },
      )
      report(
        `${REQUESTS} ${what}s in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${counts.sent} sent, ` +
          `${counts.refused} refused, ${counts.rejected} rejected; seed ${seed}`,
      )
      // If no request were sent, this would prove little.
      expect(counts.sent).to.be.above(REQUESTS / 5)
      expect(counts.refused).to.be.above(0)
    }).timeout(180_000 + 60 * REQUESTS)
  })
}
