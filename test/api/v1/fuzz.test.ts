import { expect } from 'chai'
import fc from 'fast-check'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { CHAT, IMAGES, OPENAI_VIDEOS, VIDEOS } from '../../../scripts/harness/calling.ts'
import type { Answered } from './support/floods.ts'
import { UncaughtFaults, sendAll } from './support/floods.ts'
import type { Sending } from './support/random-requests.ts'
import { mostly, nasty, sendingOf, spoilt, word } from './support/random-requests.ts'

const REQUESTS = 3000

const KEYS = [
  'model',
  'messages',
  'prompt',
  'image_url',
  'resolution',
  'duration',
  'seconds',
  'size',
  'input_reference',
  'input_reference[image_url]',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'n',
  'stream',
  'stream_options',
  'tools',
  '__proto__',
  'constructor',
  'toString',
  'user',
  'response_format',
  '',
  '\0',
]

const message = mostly(
  fc.record({ role: mostly(fc.constantFrom('user', 'system'), word), content: mostly(word, nasty) }),
  nasty,
  20,
)
const RESOLUTIONS = ['16x16', '720p']
const media = {
  prompt: mostly(
    word.map((text) => `${text} .`),
    nasty,
  ),
  resolution: fc.constantFrom(...RESOLUTIONS),
}
const FIELDS: Record<string, fc.Arbitrary<object>> = {
  [CHAT]: fc.record(
    {
      model: mostly(
        fc.constantFrom('sandbox-chat', 'dear-chat', 'fallback-chat'),
        fc.constantFrom('sandbox-image', 'nothing'),
      ),
      messages: fc.array(message, { minLength: 1, maxLength: 3 }),
      max_tokens: mostly(fc.integer({ min: 1, max: 50 }), nasty),
      n: mostly(fc.integer({ min: 1, max: 8 }), nasty),
      stream: fc.boolean(),
    },
    { requiredKeys: ['model', 'messages'] },
  ),
  [IMAGES]: fc.record(
    {
      model: mostly(
        fc.constantFrom('sandbox-image', 'fallback-image'),
        fc.constantFrom('unavailable-image', 'disabled-image', 'sandbox-chat'),
      ),
      ...media,
    },
    { requiredKeys: ['model', 'prompt'] },
  ),
  [VIDEOS]: fc.record(
    {
      model: mostly(fc.constantFrom('unavailable-video', 'disabled-image'), fc.constant('sandbox-video'), 4),
      ...media,
      duration: mostly(fc.constant(1), nasty),
    },
    { requiredKeys: ['model', 'prompt'] },
  ),
  [OPENAI_VIDEOS]: fc.record(
    {
      model: mostly(fc.constantFrom('unavailable-video', 'disabled-image'), fc.constant('sandbox-video'), 4),
      prompt: media.prompt,
      seconds: mostly(fc.constantFrom('1', 1), nasty),
      size: mostly(fc.constant('1280x720'), nasty),
      input_reference: mostly(fc.constant(null), fc.oneof(nasty, fc.record({ image_url: nasty }))),
    },
    { requiredKeys: ['model', 'prompt'] },
  ),
}
const odd = fc.constantFrom(
  '/v1/models',
  '/v1/calls/x',
  '/v1/calls/call_%00',
  '/v1',
  '/v1/chat//completions',
  '/v1/calls/%zz?wait=1&wait=2',
  '/v1/images/generations/',
)

const sending: fc.Arbitrary<Sending> = mostly(
  fc.constantFrom(CHAT, CHAT, IMAGES, IMAGES, VIDEOS, OPENAI_VIDEOS),
  odd,
).chain((path) => sendingOf(path, spoilt(FIELDS[path] ?? FIELDS[CHAT]!, KEYS)))

/** The statuses that a request can get, whatever is wrong with it. */
const ALLOWED = new Set([200, 202, 400, 401, 402, 404, 405, 410, 413, 415, 417, 422, 429])

const isPutOff = ({ status, retryAfter, json }: Answered): boolean =>
  status === 503 && json?.error?.type === 'service_unavailable' && /^\d+$/.test(retryAfter ?? '')

function check({ status, text, json }: Answered, about: string): void {
  if (status === 502) expect(json?.error?.type, about).to.equal('upstream_failed')
  else if (status === 503) expect(json?.error?.type, about).to.equal('upstream_unavailable')
  else expect(ALLOWED.has(status), `${status} ${text} to ${about}`).to.equal(true)
}

describe('thousands of random requests', () => {
  let gateway: Gateway
  let account: TestAccount
  const faults = new UncaughtFaults()
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      models.push({
        id: 'unavailable-video',
        modality: 'video',
        credits: 250,
        upstreams: [{ upstream: 'unconfigured', model: 'video-sandbox' }],
      })
      for (const model of models)
        if (model.modality === 'image' || model.modality === 'video') model.resolutions = RESOLUTIONS
    })
    account = await anAccount(gateway.db, 1_000_000_000)
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
    for (const status of [200, 202, 400, 401, 415, 503])
      expect(statuses.get(status) ?? 0, `answers of ${status} in ${JSON.stringify([...statuses])}`).to.be.above(10)
    await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    await expectBooksToBalance(gateway.db)
    expect(faults.seen).to.deep.equal([])
    expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
  })
})
