/**
 * A second opinion on the wire protocols: the adapters and the whole system against a mock server by other authors.
 * What that does not support, or not faithfully, is at the end.
 */
import { readFileSync } from 'node:fs'
import { LLMock } from '@copilotkit/aimock'
import { expect } from 'chai'
import type { Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { root } from '../../scripts/folders.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { prompted, recordOf } from '../../scripts/harness/calling.ts'
import { startStream } from './support/streams.ts'
import type { ChatStream } from './support/streams.ts'
import type { Asked } from './support/targets.ts'
import { PRICES, FUNDS, aFundedAccount, ask, modelEntry } from './support/targets.ts'
import { PIXEL } from '../support/pixel.ts'

const CLIP = readFileSync(`${root}/test/workers/storage/fixtures/plain.mp4`)

/** The upstreams, by the names that models and protocols have in these tests. */
const PLACES: Record<string, { protocol: Protocol; path: string; modalities: Asked[]; headers?: object }> = {
  openai: { protocol: 'openai', path: '/v1', modalities: ['chat', 'image', 'video'] },
  anthropic: { protocol: 'anthropic', path: '', modalities: ['chat'] },
  openrouter: { protocol: 'openrouter', path: '/api/v1', modalities: ['chat', 'video', 'image'] },
  fal: { protocol: 'fal', path: '/fal', modalities: ['image'], headers: { 'x-fal-target-host': 'queue.fal.run' } },
}

const CHATS = ['openai', 'anthropic', 'openrouter'] as const

describe('the system over aimock', () => {
  const mock = new LLMock({ port: 0, journalMaxEntries: 0 })
  let gateway: Gateway
  let account: TestAccount

  before(async () => {
    await mock.start()
    gateway = await startGateway({}, ({ upstreams, models }) => {
      for (const [name, { protocol, path, modalities, headers }] of Object.entries(PLACES)) {
        upstreams[name] = {
          protocol,
          baseUrl: `${mock.url}${path}`,
          apiKeyEnv: 'SANDBOX_API_KEY',
          ...(headers && { headers }),
        }
        for (const modality of modalities)
          models.push(
            modelEntry(`${name}-${modality}`, modality, [
              {
                upstream: name,
                model: name === 'fal' ? 'fal-ai/flux' : modality === 'image' ? 'gpt-image-1' : 'vendor/model-x',
              },
            ]),
          )
      }
    })
  })
  after(async () => {
    await gateway.stop()
    await mock.stop()
  })
  beforeEach(async () => {
    account = await aFundedAccount(gateway)
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const call = (name: string, modality: Asked, prompt: string, more?: object): Promise<Reply> =>
    ask(gateway, account, { protocol: name as Protocol, modality }, prompt, { more })

  async function streamed(name: string, prompt: string, more?: object): Promise<ChatStream> {
    const stream = await startStream(gateway, account, { protocol: name as Protocol, modality: 'chat' }, prompt, {
      more,
    })
    await stream.ended
    return stream
  }

  /** The last request, as the mock parsed it. */
  const lastBody = () => mock.getLastRequest()!.body as unknown as Record<string, unknown>

  const usage = { prompt_tokens: 12, completion_tokens: 7, input_tokens: 12, output_tokens: 7 }
  const cost = Math.ceil((12 * PRICES.input + 7 * PRICES.output) / 10)
  const tool = {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: { town: { type: 'string' } } } },
  }

  for (const name of CHATS) {
    describe(`chats by ${name}`, () => {
      it('are answered completely, settled on the reported usage', async () => {
        const prompt = prompted()
        mock.onMessage(prompt, { content: 'Grüße from afar 🌊', usage })
        const reply = await call(name, 'chat', prompt, { temperature: 0.5, max_tokens: 99 })
        expect(reply.status, reply.text).to.equal(200)
        expect(reply.json.choices[0]).to.deep.include({ index: 0, finish_reason: 'stop' })
        expect(reply.json.choices[0].message).to.include({ role: 'assistant', content: 'Grüße from afar 🌊' })
        expect(reply.json.usage).to.include({
          input_tokens: 12,
          output_tokens: 7,
          credits: cost,
          balance: FUNDS - cost,
        })
        expect(lastBody()).to.include({ model: 'vendor/model-x', max_tokens: 99 })
      })

      it('stream, settled on the reported usage', async () => {
        const prompt = prompted()
        mock.onMessage(prompt, { content: 'One after the other they come', usage }, { chunkSize: 4 })
        const stream = await streamed(name, prompt)
        expect(stream.content()).to.equal('One after the other they come')
        expect(stream.chunks()).to.have.length.above(6)
        expect(stream.chunks().at(-1)!.usage).to.include({ input_tokens: 12, output_tokens: 7, credits: cost })
        expect(stream.last()).to.equal('[DONE]')
      })

      for (const form of ['whole', 'streamed']) {
        it(`call tools: ${form}`, async () => {
          const prompt = prompted()
          const args = { town: 'Zürich' }
          mock.onMessage(
            prompt,
            { toolCalls: [{ name: 'weather', arguments: JSON.stringify(args) }] },
            { chunkSize: 3 },
          )
          const [choice] =
            form === 'whole'
              ? (await call(name, 'chat', prompt, { tools: [tool] })).json.choices
              : await assembled(await streamed(name, prompt, { tools: [tool] }))
          expect(choice.finish_reason).to.equal('tool_calls')
          expect(choice.message.tool_calls[0]).to.include({ type: 'function' })
          expect(choice.message.tool_calls[0].id).to.be.a('string').that.is.not.empty
          expect(choice.message.tool_calls[0].function.name).to.equal('weather')
          expect(JSON.parse(choice.message.tool_calls[0].function.arguments)).to.deep.equal(args)
        })
      }

      it('are refunded if the upstream refuses, and retried if it is busy', async () => {
        const refused = prompted()
        mock.onMessage(refused, { error: { message: 'no', type: 'invalid_request_error' }, status: 400 })
        expect((await call(name, 'chat', refused)).json.error.message).to.match(/refused the request \(HTTP 400\)/)
        const busy = prompted()
        mock.on(
          { userMessage: busy, sequenceIndex: 0 },
          { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 1 },
        )
        mock.on({ userMessage: busy, sequenceIndex: 1 }, { content: 'Now', usage })
        const reply = await call(name, 'chat', busy)
        expect(reply.json.choices?.[0].message.content, reply.text).to.equal('Now')
        expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - cost)
      })

      it('are refunded if the answer is garbage or the stream is cut off', async () => {
        const rubbish = prompted()
        mock.onMessage(rubbish, { content: 'x' }, { chaos: { malformedRate: 1 } })
        expect((await call(name, 'chat', rubbish)).status).to.equal(502)
        const cut = prompted()
        mock.onMessage(cut, { content: 'This never comes to its end' }, { chunkSize: 4, truncateAfterChunks: 3 })
        const stream = await streamed(name, cut)
        const error = stream.status === 200 ? stream.chunks().at(-1)!.error : JSON.parse(stream.text()).error
        expect(error, stream.text()).to.include({ type: 'upstream_failed' })
        expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
      })
    })
  }

  /** The choices of a whole stream, as the gateway stored them. */
  async function assembled({ headers }: ChatStream) {
    const reply = await fetch(`${gateway.url}/v1/calls/${headers.get('x-call-id')}`, {
      headers: { authorization: `Bearer ${account.key}` },
    })
    return ((await reply.json()) as { choices: any[] }).choices // oxlint-disable-line typescript/no-explicit-any
  }

  it("passes on Claude's thinking, and a conversation with tools", async () => {
    const prompt = prompted()
    mock.onMessage(prompt, { content: 'Rain.', reasoning: 'It is November.' })
    const reply = await call('anthropic', 'chat', prompt)
    expect(reply.json.choices[0].message).to.include({ content: 'Rain.', reasoning_content: 'It is November.' })
    mock.on({ userMessage: prompt, hasToolResult: true }, { content: 'Take an umbrella.' })
    mock.prependFixture({ match: { toolCallId: 'call_1' }, response: { content: 'Take an umbrella.' } })
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: prompt },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"town":"Ulm"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ]
    const answer = await call('anthropic', 'chat', prompt, { messages, tools: [tool] })
    expect(answer.json.choices?.[0].message.content, answer.text).to.equal('Take an umbrella.')
  })

  it("ignores OpenRouter's comments in a stream", async () => {
    const prompt = prompted()
    mock.onMessage(
      prompt,
      { content: 'Patience pays', usage: { ...usage, cost: 0.02 } },
      { openRouterProcessing: true },
    )
    const stream = await streamed('openrouter', prompt)
    expect(stream.content()).to.equal('Patience pays')
    expect(stream.chunks().at(-1)!.usage).to.include({ credits: cost }).and.not.to.have.property('cost')
  })

  it('makes and edits images of OpenAI', async () => {
    const prompt = prompted()
    mock.onImage(prompt, { image: { b64Json: PIXEL } })
    for (const more of [{}, { image_url: `data:image/png;base64,${PIXEL}` }]) {
      const reply = await call('openai', 'image', prompt, more)
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json.usage.credits).to.equal(PRICES.image)
      const stored = await fetch(`${gateway.url}${new URL(reply.json.data[0].url).pathname}`)
      expect(Buffer.from(await stored.arrayBuffer()).toString('base64')).to.equal(PIXEL)
    }
    expect(
      mock
        .getRequests()
        .slice(-2)
        .map(({ path }) => path),
    ).to.deep.equal(['/v1/images/generations', '/v1/images/edits'])
  })

  it('makes videos of OpenRouter as tasks, and downloads them with the key', async () => {
    const prompt = prompted()
    mock.onVideo(prompt, { video: { id: 'v1', status: 'completed', b64: CLIP.toString('base64'), cost: 0.5 } })
    const reply = await call('openrouter', 'video', prompt, { duration: 4, resolution: '720p' })
    expect(reply.status, reply.text).to.equal(200)
    const stored = await fetch(`${gateway.url}${new URL(reply.json.data[0].url).pathname}`)
    expect(Buffer.from(await stored.arrayBuffer()).equals(CLIP)).to.equal(true)
    expect(await recordOf(gateway.db, reply)).to.include({
      status: 'succeeded',
      credits: PRICES.video,
      upstream: 'openrouter',
    })

    const failing = prompted()
    mock.onVideo(failing, { video: { id: 'v2', status: 'failed', error: 'no' } })
    expect((await call('openrouter', 'video', failing)).json.error.message).to.match(/could not produce/)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - PRICES.video)
  })

  describe('which does not support', () => {
    it('fal: it returns addresses of the internet, which are refused before a request', async () => {
      const prompt = prompted()
      mock.onFalImage('fal-ai/flux', { image: { url: 'https://example.com/x.png' } })
      expect((await call('fal', 'image', prompt)).status).to.equal(502)
      expect(mock.getLastRequest()).to.have.nested.property('response.status', 200)
    })

    it("videos like OpenAI's: it has no content", async () => {
      const prompt = prompted()
      mock.onVideo(prompt, { video: { id: 'v3', status: 'completed', url: 'https://example.com/v.mp4' } })
      expect((await call('openai', 'video', prompt)).json.error.message).to.match(
        /^The result was not fetched: The server answered with status 404/,
      )
    })

    it('images of OpenRouter', async () => {
      expect((await call('openrouter', 'image', prompted())).status).to.equal(502)
    })
  })
})
