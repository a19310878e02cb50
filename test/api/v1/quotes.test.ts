import { expect } from 'chai'
import fc from 'fast-check'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, IMAGES, MODERATIONS, RERANK, VIDEOS, chatBody } from '../../../scripts/harness/calling.ts'
import { inSoak, report, seed } from '../../crash/scale.ts'
import { chatBodies } from '../../upstreams/support/chat-bodies.ts'
import { pricedModels } from './support/priced-models.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const QUOTES = '/v1/quotes'

/** How many random bodies are quoted and called. */
const BODIES = inSoak ? 1000 : 80

/** Quotes of an account in a minute, less some. */
const PER_ACCOUNT = 250

type Asked = { endpoint: string; body: Record<string, unknown> }

const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })

const media = (endpoint: string, models: string[]): fc.Arbitrary<Asked> =>
  fc
    .record({
      model: fc.constantFrom(...models),
      prompt: fc.constantFrom('a fox', 'a lighthouse', ''),
      resolution: sometimes(fc.constantFrom('480p', '720p', '1080p', '1K', '2K', '4K')),
      duration: sometimes(fc.oneof(fc.constantFrom(4, 8, 2.5), fc.double({ min: 0.01, max: 20, noNaN: true }))),
    })
    .map((body) => ({ endpoint, body }))

const requests: fc.Arbitrary<Asked> = fc.oneof(
  chatBodies.map(({ body }) => ({ endpoint: CHAT, body: { ...body, model: 'priced-chat' } })),
  fc.constantFrom('hello', 'a longer prompt '.repeat(30)).chain((content) =>
    fc.constantFrom(
      {
        endpoint: '/v1/messages',
        body: { model: 'priced-chat', max_tokens: 50, messages: [{ role: 'user', content }] },
      },
      { endpoint: '/v1/responses', body: { model: 'priced-chat', max_output_tokens: 50, input: content } },
    ),
  ),
  fc
    .record({ input: fc.constantFrom('a fox', ['a', 'b'], ''), model: sometimes(fc.constant('sandbox-moderation')) })
    .map((body) => ({ endpoint: MODERATIONS, body })),
  fc
    .record({
      query: fc.constantFrom('a fox', ''),
      documents: fc.array(fc.constant('a'), { maxLength: 250, size: 'max' }),
    })
    .map((body) => ({ endpoint: RERANK, body: { model: 'sandbox-rerank', ...body } })),
  media(VIDEOS, ['priced-video', 'listed-video', 'sandbox-video']),
  media(IMAGES, ['priced-image', 'sized-image']),
)

describe('POST /v1/quotes', () => {
  const gateway = useGateway({}, (catalogue) => catalogue.models.push(...pricedModels()))
  before(async () => {
    // What is compared is charged when a call opens.
    await gateway.stopWorker()
  })

  const quote = ({ post }: Caller, asked: unknown): Promise<Reply> => post(QUOTES, asked)
  const IMAGE = { endpoint: IMAGES, body: { model: 'sandbox-image', prompt: 'a fox' } }

  it('says what a call would be charged, at most and at least, and whether that could be paid', async () => {
    const account = await gateway.account(100)
    const body = { model: 'priced-video', prompt: 'a fox', duration: 4, resolution: '1080p' }
    const { status, json, headers } = await quote(account, { endpoint: VIDEOS, body })
    expect(status).to.equal(200)
    expect(json).to.include({ ok: true, model: 'priced-video', credits: 160, minimum: 160, maximum: 160 })
    expect(json).to.include({ balance: 100, affordable: false })
    expect(json.priceVersion).to.match(/^price_[0-9a-f]{32}$/)
    // It has a limit of its own.
    expect(headers.get('x-ratelimit-limit-requests')).to.equal('600')
    expect(headers.get('x-ratelimit-remaining-requests')).to.equal('599')
    const chat = (await quote(account, { endpoint: CHAT, body: chatBody('hello', { model: 'priced-chat' }) })).json
    expect(chat).to.include({ minimum: 7, maximum: chat.credits, affordable: true })
    expect(chat.credits).to.be.above(7)
  })

  it('does not count expired, owed or missing credits as affordable', async () => {
    const owing = await gateway.account(500)
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 1 })
    for (const [account, affordable] of [
      [await gateway.account([{ amount: 500, days: -1 }, { amount: 39 }]), false],
      [owing, false],
      [await gateway.account(40), true],
    ] as const)
      expect((await quote(account, IMAGE)).json).to.include({ credits: 40, affordable })
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 0 })
  })

  it('is what the call then charges or refuses, for any body, and leaves no record or charge', async () => {
    const counts = { charged: 0, refused: 0 }
    let account = await gateway.account(1e9)
    let quotes = 0
    const refusalOf = ({ status, json }: Reply) => [status, json.error.type, json.error.param]
    await fc.assert(
      fc.asyncProperty(requests, async (asked) => {
        if (++quotes % PER_ACCOUNT === 0) account = await gateway.account(1e9)
        const before = await account.counts()
        const quoted = await quote(account, asked)
        expect(await account.counts(), 'a quote left something').to.deep.equal(before)
        const called = await account.post(asked.endpoint, asked.body, { prefer: 'respond-async' })
        if (quoted.status !== 200) {
          counts.refused++
          expect(refusalOf(called)).to.deep.equal(refusalOf(quoted))
          return
        }
        counts.charged++
        expect(called.status, called.text).to.equal(202)
        const { credits: creditsPrecharged, priceVersion } = quoted.json
        expect(await gateway.record(called)).to.include({ creditsPrecharged, priceVersion })
      }),
      { numRuns: BODIES, seed },
    )
    report(`${BODIES} quotes: ${counts.charged} charged as they said, ${counts.refused} refused alike; seed ${seed}`)
    expect(counts.charged).to.be.above(BODIES / 4)
    expect(counts.refused).to.be.above(0)
  }).timeout(180_000 + 200 * BODIES)

  it('refuses what is no quote, or whose X-Max-Credits is none, and names the field', async () => {
    const account = await gateway.account(100)
    const body = chatBody('hello')
    const refusals: [asked: unknown, type: string, param: string | null, most?: string][] = [
      [{ body }, 'invalid_request', 'endpoint'],
      [{ endpoint: '/v1/models', body }, 'invalid_request', 'endpoint'],
      [{ endpoint: CHAT }, 'invalid_request', 'body'],
      [{ endpoint: CHAT, body: [] }, 'invalid_request', 'body'],
      [{ endpoint: CHAT, body: {} }, 'unsupported_model', 'model'],
      [{ endpoint: IMAGES, body: { model: 'unavailable-image', prompt: 'x' } }, 'upstream_unavailable', 'model'],
      ['[1]', 'invalid_json', null],
      [IMAGE, 'invalid_request', 'X-Max-Credits', '1.5'],
    ]
    for (const [asked, type, param, most] of refusals) {
      const guard = most === undefined ? {} : { 'X-Max-Credits': most }
      const { json, headers } = await account.post(QUOTES, asked, guard as Record<string, string>)
      expect([json.error.type, json.error.param], JSON.stringify(asked)).to.deep.equal([type, param])
      expect(headers.get('x-call-id')).to.equal(null)
    }
    expect((await account.post(QUOTES, IMAGE, { 'X-Max-Credits': '0' })).json).to.include({ credits: 40 })
    expect(await account.counts()).to.include({ calls: 0 })
  })
})
