import { expect } from 'chai'
import fc from 'fast-check'
import { Agent, request } from 'undici'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { PATIENCE_MS, until } from '../../../scripts/harness/until.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { CHAT, IMAGES, VIDEOS } from '../../../scripts/harness/calling.ts'

const REQUESTS = 3000
const AT_ONCE = 40

type Sending = { method: string; path: string; headers: Record<string, string>; body: Buffer | null }

/** Values that no client should send. */
const NASTY: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  1e21,
  '',
  ' ',
  'x',
  '1',
  'NaN',
  '\0',
  'a\0b',
  '\ud800',
  '😀',
  '__proto__',
  'toString',
  [],
  {},
  [[]],
  [null],
  [{}],
  'a'.repeat(2001),
  '\u202e',
  "' OR 1=1 --",
  '<script>',
  '../../x',
  '%00',
  { toString: 1 },
  { length: -1 },
  { url: null },
  [[[[[[[[[]]]]]]]]],
]
const KEYS = [
  'model',
  'messages',
  'prompt',
  'image_url',
  'resolution',
  'duration',
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
const HEADERS: Record<string, string[]> = {
  'content-type': [
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=x',
    'text/plain',
    'multipart/form-data',
    ';',
    'application/json;;;=',
  ],
  'content-encoding': ['identity', 'gzip', 'br', 'x', 'gzip, gzip'],
  prefer: [
    'respond-async',
    'wait=0',
    'wait=1',
    'wait=999999',
    'wait=99999999999',
    'x=y; z, ,',
    'respond-async, wait=1',
  ],
  accept: ['text/event-stream', '*/*', 'image/png', 'x'],
  'idempotency-key': ['a', 'b', ' ', 'x'.repeat(255), 'x'.repeat(300)],
  'x-stainless-retry-count': ['0', '1', '-1', 'x', '1e9'],
  'x-request-id': ['a', 'x'.repeat(500), '__proto__', '%0d%0aSet-Cookie: x'],
  traceparent: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'x', '00-'],
  authorization: ['Bearer x', 'Bearer', 'Basic x', `Bearer tg_${'0'.repeat(40)}`],
  'x-forwarded-for': ['1.2.3.4', "';--", '::1, x'],
}

const nasty = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
)
const word = fc.string({ maxLength: 12, unit: 'grapheme' })
/** Mostly the first, sometimes the second. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>, weight = 8): fc.Arbitrary<T | U> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

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
}
const bodyOf = (path: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      FIELDS[path] ?? FIELDS[CHAT]!,
      mostly(fc.constant([]), fc.array(fc.tuple(fc.constantFrom(...KEYS), nasty), { minLength: 1, maxLength: 3 }), 1),
    )
    .map(([fields, spoilt]) => {
      const text = JSON.stringify(fields)
      // As text, so that __proto__ is a key like any other.
      const more = spoilt.map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`)
      return `${text.slice(0, -1)}${more.join('')}}`
    })

/** A body whose bytes were cut off, doubled or overwritten. */
const mangledOf = (path: string): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      bodyOf(path),
      fc.nat(1000),
      fc.nat(1000),
      fc.constantFrom('cut', 'double', 'overwrite', 'number'),
      fc.nat(255),
    )
    .map(([text, at, more, how, byte]) => {
      const bytes = Buffer.from(text)
      const [from, to] = [at % bytes.length, Math.min(bytes.length, (at % bytes.length) + (more % 20) + 1)]
      if (how === 'cut') return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
      if (how === 'double') return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
      if (how === 'number') return Buffer.from(text.replace(/:(true|false|null|-?\d+)/, ':1e309'))
      bytes[from] = byte
      return bytes
    })

const header = fc
  .constantFrom(...Object.keys(HEADERS))
  .chain((name) => fc.constantFrom(...HEADERS[name]!).map((value): [string, string] => [name, value]))
const odd = fc.constantFrom(
  '/v1/models',
  '/v1/calls/x',
  '/v1/calls/call_%00',
  '/v1',
  '/v1/chat//completions',
  '/v1/calls/%zz?wait=1&wait=2',
  '/v1/images/generations/',
)

const sending: fc.Arbitrary<Sending> = mostly(fc.constantFrom(CHAT, CHAT, IMAGES, IMAGES, VIDEOS), odd).chain((path) =>
  fc.record({
    method: mostly(fc.constant('POST'), fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'), 20),
    path: fc.constant(path),
    headers: fc.oneof(
      { weight: 9, arbitrary: fc.constant<Record<string, string>>({}) },
      { weight: 9, arbitrary: fc.array(header, { minLength: 1, maxLength: 2 }).map((all) => Object.fromEntries(all)) },
      { weight: 2, arbitrary: fc.constant<Record<string, string>>({ prefer: 'respond-async' }) },
    ),
    body: fc.oneof(
      { weight: 8, arbitrary: bodyOf(path).map((text) => Buffer.from(text)) },
      { weight: 2, arbitrary: mangledOf(path) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
  }),
)

/** The statuses that a request can get, whatever is wrong with it. */
const ALLOWED = new Set([200, 202, 400, 401, 402, 404, 405, 410, 413, 415, 417, 422, 429])

/** An answer; `retryAfter` is its Retry-After. */
type Answered = {
  status: number
  retryAfter: string | undefined
  text: string
  json: { error?: { type: string } } | null
}

/**
 * Whether a request was refused because Postgres or Redis took too long, as they may on a busy machine: its client is
 * charged nothing and told to send it again, and does.
 */
const isPutOff = ({ status, retryAfter, json }: Answered): boolean =>
  status === 503 && json?.error?.type === 'service_unavailable' && /^\d+$/.test(retryAfter ?? '')

describe('thousands of random requests', () => {
  let gateway: Gateway
  let account: TestAccount
  const faults: unknown[] = []
  const note = (fault: unknown): void => void faults.push(fault)
  before(async () => {
    gateway = await startGateway({}, ({ models }) => {
      models.push({
        id: 'unavailable-video',
        modality: 'video',
        credits: 250,
        upstreams: [{ upstream: 'unconfigured', model: 'video-sandbox' }],
      })
      for (const model of models) if (model.modality !== 'chat') model.resolutions = RESOLUTIONS
    })
    account = await anAccount(gateway.db, 1_000_000_000)
    process.on('unhandledRejection', note)
    process.on('uncaughtExceptionMonitor', note)
  })
  after(async () => {
    process.off('unhandledRejection', note)
    process.off('uncaughtExceptionMonitor', note)
    await gateway.stop()
  })

  it('are answered with their fault, and leave the books balanced and the process serving', async function () {
    const seed = Date.now() % 2 ** 31
    const sendings = fc.sample(sending, { numRuns: REQUESTS, seed })
    const agent = new Agent({ connections: AT_ONCE, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS })
    const statuses = new Map<number, number>()

    async function send({ method, path, headers, body: bytes }: Sending): Promise<void> {
      const content = bytes?.toString('latin1').slice(0, 500)
      const told = `seed ${seed}: ${method} ${path} ${JSON.stringify(headers)} ${content}`
      const ask = async (): Promise<Answered> => {
        const answer = await request(`${gateway.url}${path}`, {
          dispatcher: agent,
          method: method as 'POST',
          body: bytes,
          headers: {
            authorization: `Bearer ${account.key}`,
            ...(bytes && { 'content-type': 'application/json' }),
            ...headers,
          },
        }).catch((error: Error) => {
          throw new Error(`${error.message}: ${told}`)
        })
        const text = await answer.body.text()
        const json = (text.startsWith('{') ? JSON.parse(text) : null) as Answered['json']
        return { status: answer.statusCode, retryAfter: answer.headers['retry-after']?.toString(), text, json }
      }
      const { status, text, json } = await until(`an answer to ${told}`, async () => {
        const answered = await ask()
        return !isPutOff(answered) && answered
      })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 502) expect(json?.error?.type, told).to.equal('upstream_failed')
      else if (status === 503) expect(json?.error?.type, told).to.equal('upstream_unavailable')
      else expect(ALLOWED.has(status), `${status} ${text} to ${told}`).to.equal(true)
    }

    const rest = [...sendings]
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let next = rest.pop(); next; next = rest.pop()) await send(next)
      }),
    )
    await agent.close()
    // If no request succeeded, this would prove little.
    for (const status of [200, 202, 400, 401, 415, 503])
      expect(statuses.get(status) ?? 0, `answers of ${status} in ${JSON.stringify([...statuses])}`).to.be.above(10)
    await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    await expectBooksToBalance(gateway.db)
    expect(faults).to.deep.equal([])
    expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
  })
})
