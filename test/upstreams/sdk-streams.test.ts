import { expect } from 'chai'
import OpenAI from 'openai'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { CountedChat } from '../../src/shared/chat/completions/estimate.ts'
import { estimateChat } from '../../src/shared/chat/completions/estimate.ts'
import { chatCost } from '../../src/shared/terms/pricing.ts'
import { countOutput } from '../../src/shared/requests/token-count.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { CHAT_COST, PRICES, FUNDS, aFundedAccount, everyProtocol, modelOf, targetsOf } from './support/targets.ts'
import type { Target } from './support/targets.ts'

const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a town.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
      required: ['town'],
    },
  },
} as const

type Usage = NonNullable<ChatCompletionChunk['usage']> & {
  input_tokens: number
  output_tokens: number
  credits: number
  balance: number
}

describe('a chat that the openai SDK streams', () => {
  let gateway: Gateway
  let account: TestAccount
  let client: OpenAI
  before(async () => {
    gateway = await startGateway({}, everyProtocol)
  })
  afterEach(() => expectBooksToBalance(gateway.db))
  after(() => gateway.stop())
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
  })

  const requestOf = (target: Target, prompt: string) => ({
    model: modelOf(target),
    messages: [{ role: 'user' as const, content: prompt }],
    stream_options: { include_usage: true },
  })

  async function expectCost(usage: Usage, cost: number): Promise<void> {
    expect(usage).to.include({ credits: cost, balance: FUNDS - cost })
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - cost)
  }

  for (const target of targetsOf('chat')) {
    describe(`by way of ${target.protocol}`, () => {
      it('arrives chunk by chunk, then with its usage', async () => {
        const text = 'Waves, 波 and 🌊 come and go'
        const stream = await client.chat.completions.create({
          ...requestOf(target, prompted(`[answer ${text}] [usage 100 50]`)),
          stream: true,
        })
        const chunks: ChatCompletionChunk[] = []
        for await (const chunk of stream) chunks.push(chunk)
        expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).to.equal(text)
        expect(
          chunks.filter(({ choices }) => choices[0]?.delta.content),
          'several pieces',
        ).to.have.length.above(3)
        expect(chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean)).to.deep.equal(['stop'])
        expect(new Set(chunks.map(({ id }) => id)).size, 'one id').to.equal(1)
        for (const chunk of chunks)
          expect(chunk).to.include({ object: 'chat.completion.chunk', model: modelOf(target) })
        expect(
          chunks.slice(0, -1).every(({ usage }) => !usage),
          'usage stands in the last chunk alone',
        ).to.equal(true)
        const usage = chunks.at(-1)!.usage as Usage
        expect(usage).to.include({
          input_tokens: 100,
          output_tokens: 50,
          prompt_tokens: 100,
          completion_tokens: 50,
          total_tokens: 150,
        })
        await expectCost(usage, CHAT_COST)
      })

      it('calls a tool in deltas that add up to its arguments, and accepts its result', async () => {
        const request = { ...requestOf(target, prompted('[tool weather] [usage 100 50]')), tools: [WEATHER] }
        const streamed = client.chat.completions.stream(request)
        const deltas: number[] = []
        streamed.on('tool_calls.function.arguments.delta', ({ index }) => deltas.push(index))
        const {
          choices: [choice],
        } = await streamed.finalChatCompletion()
        expect(deltas).to.have.length.above(1)
        expect(choice!.finish_reason).to.equal('tool_calls')
        const [call] = choice!.message.tool_calls!
        expect(call!.id).to.be.a('string').that.is.not.empty
        if (call!.type !== 'function') throw new Error('no function was called')
        expect(call!.function.name).to.equal('weather')
        expect(JSON.parse(call!.function.arguments)).to.deep.equal({ town: 'sandbox', days: 3 })

        const messages = [
          ...request.messages,
          choice!.message,
          { role: 'tool' as const, tool_call_id: call!.id, content: 'rain' },
          { role: 'user' as const, content: prompted('[answer Take an umbrella.] [usage 100 50]') },
        ]
        const answer = await client.chat.completions.stream({ ...request, messages }).finalChatCompletion()
        expect(answer.choices[0]!.message.content).to.equal('Take an umbrella.')
        expect(answer.usage).to.include({ credits: CHAT_COST, balance: FUNDS - 2 * CHAT_COST })
        expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 2 * CHAT_COST)
      })

      it('is stopped when its client disconnects, settled on what was produced, stored as cancelled', async () => {
        const prompt = prompted('[hold] [tokens 400] [chunks 40 0]')
        const request = requestOf(target, prompt)
        const stream = await client.chat.completions.create({ ...request, stream: true }).withResponse()
        let text = ''
        for await (const { choices } of stream.data) {
          text += choices[0]?.delta.content ?? ''
          if (text.split(' ').length > 5) break
        }
        expect(
          await until('the upstream seeing the client leave', () => gateway.sandbox.open(prompt).aborted),
        ).to.equal(1)
        const address = `${gateway.url}/v1/calls/${stream.response.headers.get('x-call-id')}`
        const kept = await get(`${address}?wait=60`, account.key)
        expect(kept.status, kept.text).to.equal(200)
        const {
          choices: [choice],
          usage,
        } = kept.json
        expect(choice.finish_reason).to.equal('cancelled')
        expect(choice.message.content).to.satisfy(
          (content: string) => content.startsWith(text) && content.length < 1500,
        )
        // Anthropic's streams begin with the count of their input.
        const reported = target.protocol === 'anthropic' ? Number(usage.input_tokens) : undefined
        const tokens = {
          input: reported ?? estimateChat({ ...request, stream: true } as CountedChat, {}).input,
          output: countOutput(kept.json.choices),
        }
        expect(usage).to.include({ input_tokens: tokens.input, output_tokens: tokens.output })
        await expectCost(
          usage,
          chatCost({ input: PRICES.input, output: PRICES.output, perTokens: 10, minimum: 1 }, tokens),
        )
      })

      it("throws the SDK's API error if the upstream breaks off, and costs nothing", async () => {
        for (const words of ['[error-after 3]', '[reset-after 3]']) {
          const stream = await client.chat.completions.create({ ...requestOf(target, prompted(words)), stream: true })
          let pieces = 0
          const failure = await (async () => {
            for await (const chunk of stream) pieces += chunk.choices.length
          })().then(
            () => null,
            (error: unknown) => error,
          )
          expect(failure, words).to.be.instanceOf(OpenAI.APIError)
          expect((failure as InstanceType<typeof OpenAI.APIError>).type, words).to.equal('upstream_failed')
          expect(pieces, 'what came before').to.be.above(2)
          expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
        }
      })
    })
  }
})
