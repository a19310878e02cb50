import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { claudeAndGpt } from './support/claude-and-gpt.ts'

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe('POST /v1/messages', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, claudeAndGpt)
    account = await anAccount(gateway.db, 1_000_000)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  const client = (key = account.key): Anthropic => new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })

  const asked = (model: string, content: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user' as const, content }],
    ...more,
  })

  async function refusal(request: PromiseLike<unknown>): Promise<APIError> {
    try {
      await request
    } catch (error) {
      expect(error).to.be.an.instanceOf(APIError)
      return error as APIError
    }
    throw new Error('was taken')
  }

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

      it('calls a tool, and takes its result on the next turn', async () => {
        const prompt = prompted('[tool]')
        for (const stream of [false, true]) {
          const request = asked(model, prompt, { tools: [WEATHER] })
          const message = stream
            ? await client().messages.stream(request).finalMessage()
            : await client().messages.create(request)
          expect(message.stop_reason).to.equal('tool_use')
          const [call] = message.content
          expect(call).to.include({ type: 'tool_use', name: 'get_weather' })
          expect((call as Anthropic.ToolUseBlock).input).to.be.an('object')
          const next = await client().messages.create({
            ...request,
            messages: [
              ...request.messages,
              { role: 'assistant', content: message.content },
              {
                role: 'user',
                content: [
                  {
                    type: 'tool_result',
                    tool_use_id: (call as Anthropic.ToolUseBlock).id,
                    content: 'rain',
                    is_error: false,
                  },
                  { type: 'text', text: prompted('[answer It rains.]') },
                ],
              },
            ],
          })
          expect(next.content).to.deep.equal([{ type: 'text', text: 'It rains.' }])
        }
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

  it('lowers the limit of the output to what can be paid, and refuses where too little is left', async () => {
    const poor = await anAccount(gateway.db, 20_000)
    const { response } = await client(poor.key)
      .messages.create(asked('claude', prompted('[answer short]'), { max_tokens: 20_000 }))
      .withResponse()
    expect(Number(response.headers.get('x-max-output-tokens'))).to.be.within(4096, 6700)
    const broke = await anAccount(gateway.db, 5000)
    const refused = await refusal(client(broke.key).messages.create(asked('claude', 'hello', { max_tokens: 20_000 })))
    expect([refused.status, refused.type]).to.deep.equal([402, 'billing_error'])
    expect(refused.headers?.get('x-should-retry')).to.equal('false')
  })

  it('sends an upstream of the same dialect the body as it came, but for what is listed', async () => {
    const prompt = prompted('[answer fine]')
    const body = {
      model: 'claude',
      max_tokens: 100,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'one' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'two' },
            { type: 'text', text: prompt },
          ],
        },
      ],
      tools: [
        { ...WEATHER, cache_control: { type: 'ephemeral', ttl: '5m' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      metadata: { user_id: '{"a": 1}' },
    }
    const reply = await send('POST', `${gateway.url}/v1/messages?beta=true`, {
      key: account.key,
      body,
      headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14, unknown-2020-01-01' },
    })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.headers.get('x-tollgate-tools-dropped')).to.equal('web_search')
    const sent = gateway.sandbox.journal(prompt).at(-1)!
    expect(sent.body).to.deep.equal({
      ...body,
      model: 'claude-sandbox',
      tools: body.tools.slice(0, 1),
      service_tier: 'standard_only',
      stream: false,
    })
    expect(sent.headers['anthropic-beta']).to.equal('interleaved-thinking-2025-05-14')
  })

  const REFUSED: [what: string, more: object, status: number, message: RegExp][] = [
    ['an unknown field', { foo: 1 }, 400, /^foo: Extra inputs are not permitted/],
    [
      'an unknown field of a block',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', b: 1 }] }] },
      400,
      /^messages\.0\.content\.0\.b: Extra inputs/,
    ],
    [
      'an unknown kind of block',
      { messages: [{ role: 'user', content: [{ type: 'odd' }] }] },
      400,
      /Input tag 'odd' found using 'type'/,
    ],
    ['a tier of its own price', { service_tier: 'priority' }, 400, /^service_tier: /],
    [
      'a cache for an hour',
      { system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
      400,
      /^system\.0\.cache_control\.ttl/,
    ],
    ['a compaction', { context_management: { edits: [{ type: 'compact_20260112' }] } }, 400, /^context_management/],
    [
      'a hosted tool that is forced',
      {
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      },
      400,
      /^tool_choice/,
    ],
    ['no limit', { max_tokens: undefined }, 400, /^max_tokens: Field required/],
    ['an unknown model', { model: 'nobody' }, 404, /model/],
    [
      'a role of nobody',
      { messages: [{ role: 'tool', content: 'a' }] },
      400,
      /^messages\.0\.role: Input should be 'user'/,
    ],
  ]
  for (const [what, more, status, message] of REFUSED) {
    it(`refuses ${what} in the words of the API, uncharged`, async () => {
      const refused = await refusal(client().messages.create({ ...asked('claude', 'hello'), ...more } as never))
      expect(refused.status).to.equal(status)
      expect((refused.error as { error: { message: string } }).error.message).to.match(message)
    })
  }

  it('counts tokens for free, at any balance and without a limit', async () => {
    const broke = await anAccount(gateway.db, 1)
    const counted = async (model: string): Promise<number> => {
      const messages = [{ role: 'user' as const, content: 'hello' }]
      return (await client(broke.key).messages.countTokens({ model, messages, tools: [WEATHER] })).input_tokens
    }
    expect(await counted('gpt'), 'as its hold would be').to.be.above(1500)
    expect(await counted('claude'), 'by its upstream').to.be.within(1, 1499)
  })
})
