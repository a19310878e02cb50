import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk'
import { expect } from 'chai'
import OpenAI, { APIError as OpenAiError } from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'
import { refusal } from './support/errors.ts'
import { MODELS, addDialects } from './support/responses.ts'

type Headers = Record<string, string>
type Usage = Record<'input_tokens' | 'output_tokens' | 'credits' | 'balance', number>
type Whole = { data: { id: string; model: string; usage?: unknown }; text: string; headers: globalThis.Headers }

/** A client of a dialect, and what it expects. */
type Client = {
  path: string
  body: (model: string, prompt: string) => object
  whole: (model: string, prompt: string, headers?: Headers) => Promise<Whole>
  /** The words and the types of the events of a stream, each type once where it comes several times in a row. */
  streamed: (
    model: string,
    prompt: string,
    headers?: Headers,
  ) => Promise<{ text: string; types: string[]; output: number }>
  types: string[]
  /** How it says that its upstream failed: before its first event, and after some. */
  failsWhole: (request: Promise<unknown>) => Promise<unknown>
  failsStreamed: (request: Promise<{ types: string[] }>) => Promise<unknown>
}

const once = (types: string[]): string[] => types.filter((type, at) => type !== types[at - 1])

describe('a chat in the dialect of another vendor, by its own SDK', () => {
  const gateway = useGateway({}, addDialects)
  const account = useOneAccount(gateway, 1_000_000)

  const anthropic = (): Anthropic => new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 })
  const openai = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
  const message = (model: string, content: string) => ({
    model,
    max_tokens: 500,
    messages: [{ role: 'user' as const, content }],
  })
  const response = (model: string, input: string) => ({ model, max_output_tokens: 500, input })

  const CLIENTS: Record<string, Client> = {
    messages: {
      path: '/v1/messages',
      body: message,
      whole: async (model, prompt, headers) => {
        const asked = anthropic().messages.create(message(model, prompt), { headers })
        const { data, response: answer } = await asked.withResponse()
        expect(data).to.include({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
        expect(answer.headers.get('request-id')).to.be.a('string')
        return {
          data,
          text: data.content.map((block) => ('text' in block ? block.text : '')).join(),
          headers: answer.headers,
        }
      },
      streamed: async (model, prompt, headers) => {
        const types: string[] = []
        const stream = anthropic().messages.stream(message(model, prompt), { headers })
        stream.on('streamEvent', ({ type }) => types.push(type))
        const { content, usage } = await stream.finalMessage()
        const text = content.map((block) => ('text' in block ? block.text : '')).join()
        return { text, types: once(types), output: usage.output_tokens }
      },
      types: ['start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'delta', 'stop'].map(
        (type) => (type.startsWith('content') ? type : `message_${type}`),
      ),
      failsWhole: async (request) =>
        expect(await refusal(request, AnthropicError)).to.include({ status: 502, type: 'api_error' }),
      failsStreamed: async (request) => expect((await refusal(request, AnthropicError)).message).to.match(/upstream/i),
    },
    responses: {
      path: '/v1/responses',
      body: response,
      whole: async (model, prompt, headers) => {
        const asked = openai().responses.create(response(model, prompt), { headers })
        const { data, response: answer } = await asked.withResponse()
        expect(data).to.include({ object: 'response', status: 'completed', error: null })
        expect(data.id).to.equal(answer.headers.get('x-call-id')!.replace('call_', 'resp_'))
        return { data, text: data.output_text, headers: answer.headers }
      },
      streamed: async (model, prompt, headers) => {
        const stream = openai().responses.stream(response(model, prompt) as never, { headers })
        const types: string[] = []
        stream.on('event', ({ type, sequence_number: nth }) => {
          expect(nth, 'numbered without gaps').to.equal(types.length)
          types.push(type)
        })
        const { output_text: text, usage, status, error } = await stream.finalResponse()
        if (status === 'failed') expect(error).to.include({ code: 'server_error' })
        return { text, types: once(types), output: usage?.output_tokens ?? 0 }
      },
      types: [
        ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta'],
        ...['output_text.done', 'content_part.done', 'output_item.done', 'completed'],
      ].map((type) => `response.${type}`),
      failsWhole: async (request) =>
        expect(await refusal(request, OpenAiError)).to.include({
          status: 502,
          type: 'server_error',
          code: 'upstream_failed',
        }),
      failsStreamed: async (request) =>
        expect((await request).types.filter((type) => /completed|incomplete|failed/.test(type))).to.deep.equal([
          'response.failed',
        ]),
    },
  }

  for (const [dialect, { path, body, whole, streamed, types, failsWhole, failsStreamed }] of Object.entries(CLIENTS))
    for (const model of MODELS)
      describe(`${dialect} by ${model}`, () => {
        it('is answered whole, with what it cost', async () => {
          const before = await account.balance()
          const { data, text, headers } = await whole(model, prompted('[answer Good morning]'))
          expect([data.model, text]).to.deep.equal([model, 'Good morning'])
          const usage = data.usage as Usage
          expect(usage.credits).to.equal(usage.input_tokens + 3 * usage.output_tokens)
          expect([usage.balance, await account.balance()]).to.deep.equal([before - usage.credits, usage.balance])
          expect(data).to.not.have.property('ok')
          expect(headers.get('x-max-output-tokens')).to.equal('500')
        })

        it('streams the same answer, its events in their order', async () => {
          const got = await streamed(model, prompted('[answer Good morning to you] [tokens 4]'))
          expect(got).to.include({ text: 'Good morning to you' })
          expect(got.types).to.deep.equal(types)
          expect(got.output).to.be.above(0)
        })

        it('says in its own form that it was refunded when its upstream fails, in mid-stream too', async () => {
          const before = await account.balance()
          await failsWhole(whole(model, prompted('[status 500]')))
          for (const words of ['[error-after 2] [tokens 9]', '[tokens 9] [chunks 9 5] [reset-after 2]'])
            await failsStreamed(streamed(model, prompted(words)))
          expect(await account.balance()).to.equal(before)
        })

        it('is fetched and replayed in its dialect, and may be fetched later', async () => {
          const prompt = prompted('[answer once]')
          const headers = { 'Idempotency-Key': prompted('key') }
          const first = await whole(model, prompt, headers)
          const fetched = await account.get(`/v1/calls/${first.headers.get('x-call-id')}`)
          expect(fetched.json).to.deep.include({ id: first.data.id, usage: first.data.usage })
          expect((await whole(model, prompt, headers)).data).to.deep.equal(first.data)
          expect((await streamed(model, prompt, headers)).text).to.equal('once')
          const accepted = await account.post(path, body(model, prompt), { prefer: 'respond-async' })
          expect(accepted.status).to.equal(202)
          const later = await account.get(`/v1/calls/${accepted.headers.get('x-call-id')}?wait=30`)
          expect(later.json).to.include({ model })
          expect(later.text).to.include('"once"')
        })
      })
})
