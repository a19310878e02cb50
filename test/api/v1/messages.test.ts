import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { useGateway } from '../../support/gateway.ts'
import { refusal as refusalOf } from './support/errors.ts'

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe('POST /v1/messages', () => {
  const gateway = useGateway({}, claudeAndGpt)
  let account: TestAccount
  before(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })

  const client = (key = account.key): Anthropic => new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })

  const asked = (model: string, content: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user' as const, content }],
    ...more,
  })

  const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)

  for (const model of ['claude', 'gpt']) {
    describe(`over an upstream of ${model === 'claude' ? 'the same dialect' : 'chat completions'}`, () => {
      it('answers whole, with what it cost', async () => {
        const before = await balanceOf(gateway.db, account.id)
        const { data: message, response } = await client()
          .messages.create(asked(model, prompted('[answer Good morning]')))
          .withResponse()
        expect(message).to.deep.include({ type: 'message', role: 'assistant', model, stop_reason: 'end_turn' })
        expect(message.content).to.deep.equal([{ type: 'text', text: 'Good morning' }])
        const usage = message.usage as unknown as Record<string, number>
        expect(usage.credits).to.equal(usage.input_tokens! + 3 * usage.output_tokens!)
        expect(usage.balance).to.equal(before - usage.credits!)
        expect(message).to.not.have.property('ok')
        expect(response.headers.get('x-max-output-tokens')).to.equal('500')
        expect(response.headers.get('request-id')).to.be.a('string')
      })

      it('streams the same message, its counts at the beginning and the end', async () => {
        const prompt = prompted('[answer Good morning to you] [tokens 4]')
        const events: Anthropic.MessageStreamEvent[] = []
        const stream = client().messages.stream(asked(model, prompt))
        stream.on('streamEvent', (event) => events.push(event))
        const message = await stream.finalMessage()
        expect(message.content.map((block) => ('text' in block ? block.text : ''))).to.deep.equal([
          'Good morning to you',
        ])
        const types = events.map(({ type }) => type)
        expect(types.filter((type) => type.startsWith('message'))).to.deep.equal([
          'message_start',
          'message_delta',
          'message_stop',
        ])
        const [start] = events
        expect((start as Anthropic.MessageStartEvent).message).to.deep.include({ model })
        expect((start as Anthropic.MessageStartEvent).message.usage.input_tokens).to.be.above(0)
        expect(message.usage.output_tokens).to.be.above(0)
      })

      it('says in its own form that it was refunded when its upstream fails', async () => {
        const before = await balanceOf(gateway.db, account.id)
        const failed = await refusal(client().messages.create(asked(model, prompted('[status 500]'))))
        expect([failed.status, failed.type]).to.deep.equal([502, 'api_error'])
        const streamed = await refusal(
          client()
            .messages.stream(asked(model, prompted('[error-after 2] [tokens 9]')))
            .finalMessage(),
        )
        expect(streamed.message).to.match(/upstream/i)
        expect(await balanceOf(gateway.db, account.id)).to.equal(before)
      })

      it('is fetched and replayed in its dialect', async () => {
        const request = asked(model, prompted('[answer once]'))
        const headers = { 'Idempotency-Key': prompted('key') }
        const first = await client().messages.create(request, { headers }).withResponse()
        const id = first.response.headers.get('x-call-id')!
        expect((await get(`${gateway.url}/v1/calls/${id}`, account.key)).json).to.deep.equal(first.data)
        expect(await client().messages.create(request, { headers })).to.deep.equal(first.data)
        const streamed = await client().messages.stream(request, { headers }).finalMessage()
        expect(streamed.content).to.deep.equal(first.data.content)
      })
    })
  }

  it('refuses an unknown field in the words of the API, uncharged', async () => {
    const before = await balanceOf(gateway.db, account.id)
    const refused = await refusal(client().messages.create({ ...asked('claude', 'hello'), foo: 1 } as never))
    expect(refused.status).to.equal(400)
    expect((refused.error as { error: { message: string } }).error.message).to.match(/^foo: Extra inputs/)
    expect(await balanceOf(gateway.db, account.id)).to.equal(before)
  })

  it('counts tokens for free, at any balance and without a limit', async () => {
    const broke = await anAccount(gateway.db, 1)
    const counted = async (model: string): Promise<number> => {
      const messages = [{ role: 'user' as const, content: 'hello' }]
      return (await client(broke.key).messages.countTokens({ model, messages, tools: [WEATHER] })).input_tokens
    }
    expect(await counted('gpt'), 'a third of its bytes').to.be.within(60, 100)
    expect(await counted('claude'), 'by its upstream').to.be.within(1, 1499)
  })
})
