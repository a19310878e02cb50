import { expect } from 'chai'
import fc from 'fast-check'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { responseBodies } from '../../upstreams/support/response-bodies.ts'
import type { Answered } from './support/floods.ts'
import { UncaughtFaults, sendAll } from './support/floods.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, sendingOf, spoilt, spoiltWithin } from './support/random-requests.ts'
import { MODELS, startDialects } from './support/responses.ts'

const REQUESTS = 3000

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

/** The statuses that a request can get, whatever is wrong with it or whatever its upstream thinks of it. */
const ALLOWED = new Set([200, 202, 400, 401, 402, 404, 405, 409, 410, 413, 415, 417, 422, 429, 502])

const isPutOff = ({ status, retryAfter }: Answered): boolean => status === 503 && /^\d+$/.test(retryAfter ?? '')

/** What refuses a body of this endpoint, and names the field. */
const OF_FIELDS = new Set(['invalid_request', 'previous_response_not_found'])

function check({ status, text, json }: Answered, about: string): void {
  expect(ALLOWED.has(status), `${status} ${text} to ${about}`).to.equal(true)
  const { code, param } = (json?.error ?? {}) as { code?: string; param?: string | null }
  if (status === 400 && OF_FIELDS.has(String(code))) expect(param, `${text} to ${about}`).to.be.a('string')
}

describe('thousands of random responses', () => {
  let gateway: Gateway
  let account: TestAccount
  const faults = new UncaughtFaults()
  before(async () => {
    gateway = await startDialects()
    account = await anAccount(gateway.db, 100_000_000_000)
    faults.start()
  })
  after(async () => {
    faults.stop()
    await gateway.stop()
  })

  it('are answered with their fault, and leave the books balanced and the process serving', async () => {
    const seed = Date.now() % 2 ** 31
    const sendings = fc.sample(sending, { numRuns: REQUESTS, seed })
    const statuses = await sendAll(gateway.url, account, sendings, { seed, isPutOff, check })
    // If no request succeeded, this would prove little.
    for (const status of [200, 202, 400, 401, 404, 415])
      expect(statuses.get(status) ?? 0, `answers of ${status} in ${JSON.stringify([...statuses])}`).to.be.above(10)
    await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    await expectBooksToBalance(gateway.db)
    expect(faults.seen).to.deep.equal([])
    expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
  })
})
