import { expect } from 'chai'
import type OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'
import { MODELS, asked, clientOf, refusal, addDialects, streamed } from './support/responses.ts'

// Whole and streamed answers of each upstream: dialects.test.ts. The body as it came: passed-bytes.test.ts.
describe('POST /v1/responses', () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 1_000_000)
  const client = (): OpenAI => clientOf(gateway, account.key)

  it('answers in the form of a schema', async () => {
    const Weather = z.object({ city: z.string(), degrees: z.number() })
    const parsed = await client().responses.parse({
      ...asked('gpt', prompted('the weather')),
      text: { format: zodTextFormat(Weather, 'weather') },
    })
    expect(Weather.parse(parsed.output_parsed)).to.have.property('city')
  })

  it('sends an upstream of the same dialect an HMAC of its session, and reads a long answer as a stream', async () => {
    const prompt = prompted('[answer fine]')
    const body = { model: 'native', instructions: 'Be brief.', input: prompt, prompt_cache_key: 'session', store: true }
    expect(await client().responses.create(body as never)).to.include({ store: true, instructions: null })
    const sent = gateway.sandbox.journal(prompt).at(-1)!.body as Record<string, unknown>
    expect(sent.prompt_cache_key).to.match(/^[\w-]{43}$/)
    const own = {
      model: 'sandbox/native',
      max_output_tokens: 32_768,
      service_tier: 'default',
      store: false,
      stream: true,
    }
    expect(sent).to.include({ instructions: 'Be brief.', ...own })
  })

  it('lowers the limit of the output to what can be paid, and refuses below that as a spent quota', async () => {
    const poor = await gateway.account(20_000)
    const lowered = await poor.post('/v1/responses', { model: 'claude', input: prompted('[answer short]') })
    expect(Number(lowered.headers.get('x-max-output-tokens'))).to.be.within(4096, 6700)
    const broke = clientOf(gateway, (await gateway.account(5000)).key)
    const refused = await refusal(broke.responses.create({ model: 'claude', input: 'hello' }))
    expect(refused).to.include({ status: 429, type: 'insufficient_quota', code: 'insufficient_credits' })
    expect(refused.headers?.get('x-should-retry')).to.equal('false')
  })

  for (const model of MODELS) {
    it(`closes what is open of a stream that its deadline cuts, and charges what was delivered: ${model}`, async () => {
      const before = await account.balance()
      const request = asked(`${model}-hasty`, prompted('[tokens 20] [hang-after 5]'))
      const { response, types, events } = await streamed(clientOf(gateway, account.key), request)
      const closing = ['output_text.done', 'content_part.done', 'output_item.done', 'incomplete']
      expect(types.slice(-4)).to.deep.equal(closing.map((type) => `response.${type}`))
      expect(response.incomplete_details).to.deep.equal({ reason: 'max_output_tokens' })
      const said = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
      expect(response.output_text).to.equal(said).and.to.match(/\w/)
      const { credits } = response.usage as unknown as { credits: number }
      expect(await account.balance()).to.equal(before - credits)
    })
  }

  it('charges a client that leaves a stream what was delivered, once', async () => {
    const own = await gateway.account(1_000_000)
    const request = { ...asked('gpt', prompted('[tokens 40] [chunks 40 50]')), stream: true }
    const stream = await clientOf(gateway, own.key).responses.create(request as never)
    let left = 0
    for await (const event of stream as unknown as AsyncIterable<ResponseStreamEvent>)
      if (event.type === 'response.output_text.delta' && ++left === 3) break
    const call = () => gateway.db('calls').where({ account_id: own.id }).whereNotNull('finished_at').first('credits')
    const credits = Number((await until('the call to end', call)).credits)
    expect(credits).to.be.above(0)
    expect(await own.balance()).to.equal(1_000_000 - credits)
  })
})
