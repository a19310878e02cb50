import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { until } from '../../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { MODELS, asked, clientOf, refusal, startDialects, streamed } from './support/responses.ts'

describe('what a response costs', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startDialects()
    account = await anAccount(gateway.db, 1_000_000)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  const client = (key = account.key): OpenAI => clientOf(gateway, key)

  it('lowers the limit of the output to what can be paid, and refuses below that as a spent quota', async () => {
    const poor = await anAccount(gateway.db, 20_000)
    const { response } = await client(poor.key)
      .responses.create({ model: 'claude', input: prompted('[answer short]') })
      .withResponse()
    expect(Number(response.headers.get('x-max-output-tokens'))).to.be.within(4096, 6700)
    const broke = await anAccount(gateway.db, 5000)
    const refused = await refusal(client(broke.key).responses.create({ model: 'claude', input: 'hello' }))
    expect([refused.status, refused.type, refused.code]).to.deep.equal([
      429,
      'insufficient_quota',
      'insufficient_credits',
    ])
    expect(refused.headers?.get('x-should-retry')).to.equal('false')
  })

  it('closes what is open of a stream that its deadline cuts, and charges what was delivered', async () => {
    for (const model of MODELS) {
      const before = await balanceOf(gateway.db, account.id)
      const request = asked(`${model}-hasty`, prompted('[tokens 20] [hang-after 5]'))
      const { response, types, events } = await streamed(client(), request)
      expect(types.slice(-4), model).to.deep.equal([
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.incomplete',
      ])
      expect(response.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' })
      const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
      expect(response.output_text).to.equal(said).and.to.match(/\w/)
      const { credits } = response.usage as unknown as { credits: number }
      expect(await balanceOf(gateway.db, account.id)).to.equal(before - credits)
    }
  })

  it('charges a client that leaves a stream what was delivered, once', async () => {
    for (const model of MODELS) {
      const before = await balanceOf(gateway.db, account.id)
      const prompt = prompted('[tokens 40] [chunks 40 50]')
      const stream = await client().responses.create({ ...asked(model, prompt), stream: true } as never)
      let left = 0
      for await (const event of stream as unknown as AsyncIterable<ResponseStreamEvent>)
        if (event.type === 'response.output_text.delta' && ++left === 3) break
      const calls = gateway.db('calls').where({ account_id: account.id }).orderBy('id', 'desc')
      const ended = await until('the call to end', async () => {
        const last = await calls.clone().first<{ finished_at: Date | null; credits: string }>('finished_at', 'credits')
        return last?.finished_at ? last : null
      })
      expect(Number(ended.credits), model).to.be.above(0)
      expect(await balanceOf(gateway.db, account.id)).to.equal(before - Number(ended.credits))
    }
  })

  const REFUSED: [what: string, more: object, status: number, message: RegExp][] = [
    ['an unknown field', { foo: 1 }, 400, /^Unknown parameter: 'foo'/],
    ['an unknown field of an item', { input: [{ role: 'user', content: 'a', b: 1 }] }, 400, /'input\.0\.b'/],
    ['an unknown kind of item', { input: [{ type: 'odd' }] }, 400, /'odd' is no known type of item/],
    ['an unknown kind of part', { input: [{ role: 'user', content: [{ type: 'odd' }] }] }, 400, /input\.0\.content\.0/],
    ['a tier of its own price', { service_tier: 'priority' }, 400, /service_tier/],
    ['a mode of its own price', { reasoning: { mode: 'pro' } }, 400, /reasoning\.mode/],
    ['a cache of a day', { prompt_cache_retention: '24h' }, 400, /prompt_cache_retention/],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 400, /'prompt'/],
    ['a stored conversation', { conversation: 'conv_1' }, 400, /'conversation'/],
    ['a compaction', { context_management: [{ type: 'compaction' }] }, 400, /context_management/],
    [
      'a stored file',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,', file_id: 'file_1' }] }] },
      400,
      /input\.0\.content\.0\.file_id/,
    ],
    [
      'a hosted tool that is forced',
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      400,
      /tool_choice/,
    ],
    [
      'a private address',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'http://127.0.0.1/a' }] }] },
      400,
      /image_url/,
    ],
    ['an unknown model', { model: 'nobody' }, 404, /model/],
  ]
  for (const [what, more, status, message] of REFUSED) {
    it(`refuses ${what}, uncharged`, async () => {
      const before = await balanceOf(gateway.db, account.id)
      const refused = await refusal(client().responses.create({ ...asked('claude', 'hello'), ...more } as never))
      expect(refused.status).to.equal(status)
      expect((refused.error as { message: string }).message).to.match(message)
      if (status === 404) expect(refused.code).to.equal('model_not_found')
      expect(await balanceOf(gateway.db, account.id)).to.equal(before)
    })
  }
})
