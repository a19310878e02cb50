import { expect } from 'chai'
import fc from 'fast-check'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { messageBodies } from '../../upstreams/support/message-bodies.ts'
import type { Answered } from './support/floods.ts'
import { UncaughtFaults, sendAll } from './support/floods.ts'
import { claudeAndGpt } from './support/message-models.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, sendingOf, spoilt, spoiltWithin } from './support/random-requests.ts'

const REQUESTS = 3000

const KEYS = [
  'model',
  'messages',
  'max_tokens',
  'system',
  'stop_sequences',
  'stream',
  'temperature',
  'thinking',
  'tool_choice',
  'tools',
  'metadata',
  'output_config',
  'cache_control',
  'context_management',
  'service_tier',
  'mcp_servers',
  'n',
  '__proto__',
  'constructor',
  'toString',
  '',
  '\0',
]

const bodies = spoiltWithin(messageBodies, mostly(fc.constantFrom('claude', 'gpt'), fc.constant('nobody')))

const sending: fc.Arbitrary<Sending> = mostly(
  fc.constant('/v1/messages'),
  fc.constantFrom('/v1/messages?beta=true', '/v1/messages/count_tokens', '/v1/messages/', '/v1/messages/batches'),
  6,
).chain((path) => sendingOf(path, spoilt(bodies, KEYS)))

/** The statuses that a request can get, whatever is wrong with it or whatever its upstream thinks of it. */
const ALLOWED = new Set([200, 202, 400, 401, 402, 404, 405, 409, 410, 413, 415, 417, 422, 429, 502])

const isPutOff = ({ status, retryAfter }: Answered): boolean => status === 503 && /^\d+$/.test(retryAfter ?? '')

function check({ status, text }: Answered, about: string): void {
  expect(ALLOWED.has(status), `${status} ${text} to ${about}`).to.equal(true)
}

describe('thousands of random messages', () => {
  let gateway: Gateway
  let account: TestAccount
  const faults = new UncaughtFaults()
  before(async () => {
    gateway = await startGateway({}, claudeAndGpt)
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
