import { expect } from 'chai'
import fc from 'fast-check'
import { responseBodies } from '../../upstreams/support/response-bodies.ts'
import type { Answered } from './support/floods.ts'
import { OF_DIALECTS, fuzz, isPutOffInDialect } from './support/fuzzing.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, sendingOf, spoilt, spoiltWithin } from './support/random-requests.ts'
import { MODELS, startDialects } from './support/responses.ts'

const KEYS = [
  'model',
  'input',
  'max_output_tokens',
  'instructions',
  'stream',
  'background',
  'store',
  'previous_response_id',
  'reasoning',
  'tool_choice',
  'tools',
  'metadata',
  'text',
  'include',
  'service_tier',
  'conversation',
  'n',
  '__proto__',
  'constructor',
  'toString',
  '',
  '\0',
]

/** Ids that are none of a response of this account, and what is no id. */
const ID = `resp_${'0'.repeat(32)}`
const ids = fc.constantFrom(
  ID,
  'resp_',
  `${ID}0`,
  `call_${ID.slice(5)}`,
  '%00',
  '..%2f',
  '%ff',
  'a'.repeat(300),
  '__proto__',
)
const referring = fc.tuple(responseBodies, ids, fc.nat(3)).map(([body, id, repeated]) => ({
  ...body,
  ...(repeated === 0
    ? { previous_response_id: id }
    : { input: Array.from({ length: repeated }, () => ({ type: 'item_reference', id: id.replace('resp_', 'msg_') })) }),
}))

const bodies = spoiltWithin(
  mostly(responseBodies, referring),
  mostly(fc.constantFrom(...MODELS), fc.constant('nobody')),
)

const sending: fc.Arbitrary<Sending> = mostly(
  fc.constant('/v1/responses'),
  fc.oneof(
    fc.constantFrom('/v1/responses?x=1', '/v1/responses/', '/v1/responses/input_tokens'),
    fc.tuple(ids, fc.constantFrom('', '/cancel', '/input_items')).map(([id, rest]) => `/v1/responses/${id}${rest}`),
  ),
  6,
).chain((path) => sendingOf(path, spoilt(bodies, KEYS)))

/** What refuses a body of this endpoint, and names the field. */
const OF_FIELDS = new Set(['invalid_request', 'previous_response_not_found'])

function check({ status, text, json }: Answered, about: string): void {
  expect(OF_DIALECTS.has(status), `${status} ${text} to ${about}`).to.equal(true)
  const { code, param } = (json?.error ?? {}) as { code?: string; param?: string | null }
  if (status === 400 && OF_FIELDS.has(String(code))) expect(param, `${text} to ${about}`).to.be.a('string')
}

fuzz('responses', {
  start: startDialects,
  sending,
  isPutOff: isPutOffInDialect,
  check,
  statuses: [200, 202, 400, 401, 404, 415],
})
