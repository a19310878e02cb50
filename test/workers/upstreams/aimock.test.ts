/**
 * A second opinion on the wire protocols: the adapters against a mock server by other authors. What that does not
 * support, or not faithfully, is at the end.
 */
import { readFileSync } from 'node:fs'
import { LLMock } from '@copilotkit/aimock'
import { expect } from 'chai'
import { root } from '../../../scripts/folders.ts'
import { until } from '../../../scripts/harness/until.ts'
import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import type {
  ChatResult,
  DirectMediaAdapter,
  MediaSource,
  TaskMediaAdapter,
  TaskState,
  UpstreamContext,
} from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'
import { chatOf, choiceOf, contextOf, drained, promptOf, routeTo, uploading } from './sandbox-upstreams.ts'

const CLIP = readFileSync(`${root}/test/workers/storage/fixtures/plain.mp4`)

/** Where the mock speaks each protocol. */
const PATHS = { openai: '/v1', anthropic: '', openrouter: '/api/v1', fal: '/fal' } as const
type Spoken = keyof typeof PATHS

const CHATS = ['openai', 'anthropic', 'openrouter'] as const

const usage = { prompt_tokens: 12, completion_tokens: 7, input_tokens: 12, output_tokens: 7 }
const parameters = { type: 'object', properties: { town: { type: 'string' } } }
const tools = [{ type: 'function', function: { name: 'weather', parameters } }]

describe('the adapters over aimock', () => {
  const mock = new LLMock({ port: 0, journalMaxEntries: 0 })
  let upstreams: Upstreams
  before(async () => {
    await mock.start()
    upstreams = createUpstreams({ accountShare: 1 })
  })
  after(async () => {
    await upstreams.close()
    await mock.stop()
  })

  function at(protocol: Spoken, model = 'vendor/model-x'): UpstreamContext {
    const headers: Record<string, string> = protocol === 'fal' ? { 'x-fal-target-host': 'queue.fal.run' } : {}
    return contextOf(routeTo(protocol, `${mock.url}${PATHS[protocol]}`, { model, upstream: { headers } }))
  }

  const whole = (protocol: Spoken, request: ChatRequest): Promise<ChatResult> =>
    upstreams.adapterOf(protocol).chat!.chat(request, at(protocol))

  /** What is streamed, put together; and how many frames it came in. */
  async function streamed(protocol: Spoken, request: ChatRequest): Promise<ChatResult & { frames: number }> {
    const { events, error } = await drained((take) =>
      upstreams.adapterOf(protocol).chat!.streamChat(request, at(protocol), take),
    )
    if (error) throw error
    const assembly = dialectOf('chat').answers.assemble(1e6)
    const frames = events.flatMap((event) => (event.type === 'frame' ? [event.frame] : []))
    for (const frame of frames) assembly.add(frame)
    const last = events.findLast((event) => event.type === 'usage')
    return { answer: assembly.answer('stop'), usage: last?.usage ?? null, frames: frames.length }
  }

  for (const protocol of CHATS)
    describe(`read chats by ${protocol}`, () => {
      it('whole and streamed, with the reported usage', async () => {
        const prompt = promptOf('aimock')
        mock.onMessage(prompt, { content: 'Grüße from afar 🌊', usage }, { chunkSize: 4 })
        const results = [await whole(protocol, chatOf(prompt, { temperature: 0.5, max_tokens: 99 }))]
        expect(mock.getLastRequest()!.body).to.include({ model: 'vendor/model-x', max_tokens: 99 })
        const stream = await streamed(protocol, chatOf(prompt))
        expect(stream.frames).to.be.above(4)
        for (const result of [...results, stream]) {
          expect(choiceOf(result)).to.deep.include({ index: 0, finish_reason: 'stop' })
          expect(choiceOf(result).message).to.include({ role: 'assistant', content: 'Grüße from afar 🌊' })
          expect(result.usage).to.include({ input: 12, output: 7 })
        }
      })

      it('that call tools, whole and streamed', async () => {
        const prompt = promptOf('aimock')
        const args = { town: 'Zürich' }
        const toolCalls = [{ name: 'weather', arguments: JSON.stringify(args) }]
        mock.onMessage(prompt, { toolCalls }, { chunkSize: 3 })
        for (const read of [whole, streamed]) {
          const { finish_reason: finish, message } = choiceOf(await read(protocol, chatOf(prompt, { tools })))
          const [called] = message.tool_calls!
          expect([finish, called!.type, called!.function.name]).to.deep.equal(['tool_calls', 'function', 'weather'])
          expect(called!.id).to.be.a('string').that.is.not.empty
          expect(JSON.parse(called!.function.arguments)).to.deep.equal(args)
        }
      })
    })

  it("pass on Claude's thinking, and a conversation with tools", async () => {
    const prompt = promptOf('aimock')
    mock.onMessage(prompt, { content: 'Rain.', reasoning: 'It is November.' })
    const { message } = choiceOf(await whole('anthropic', chatOf(prompt)))
    expect(message).to.include({ content: 'Rain.', reasoning_content: 'It is November.' })
    mock.on({ userMessage: prompt, hasToolResult: true }, { content: 'Take an umbrella.' })
    mock.prependFixture({ match: { toolCallId: 'call_1' }, response: { content: 'Take an umbrella.' } })
    const called = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"town":"Ulm"}' } }
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: prompt },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ]
    const answer = await whole('anthropic', { messages, tools, max_tokens: 100 })
    expect(choiceOf(answer).message.content).to.equal('Take an umbrella.')
  })

  it("ignore OpenRouter's comments in a stream", async () => {
    const prompt = promptOf('aimock')
    const answer = { content: 'Patience pays', usage: { ...usage, cost: 0.02 } }
    mock.onMessage(prompt, answer, { openRouterProcessing: true })
    const read = await streamed('openrouter', chatOf(prompt))
    expect(choiceOf(read).message.content).to.equal('Patience pays')
    expect(read.usage).to.include({ input: 12, output: 7 })
  })

  const pictureOf = async (protocol: Spoken, prompt: string, image?: string): Promise<MediaSource> => {
    const adapter = upstreams.adapterOf(protocol).image as DirectMediaAdapter
    const request = { prompt, ...(image && { image_url: image }) }
    return (await adapter.generate(request, uploading(at(protocol, 'gpt-image-1'), adapter, image))).files[0]!
  }

  it('make and edit images of OpenAI', async () => {
    const prompt = promptOf('aimock')
    mock.onImage(prompt, { image: { b64Json: PIXEL } })
    for (const [image, path] of [
      [undefined, '/v1/images/generations'],
      [PIXEL_URI, '/v1/images/edits'],
    ] as const) {
      const made = await pictureOf('openai', prompt, image)
      expect(made.from === 'bytes' && Buffer.from(made.bytes).toString('base64')).to.equal(PIXEL)
      expect(mock.getLastRequest()!.path).to.equal(path)
    }
  })

  it('make videos of OpenRouter as tasks, which are downloaded with the key', async () => {
    const adapter = upstreams.adapterOf('openrouter').video as TaskMediaAdapter
    const endOf = async (video: object): Promise<TaskState> => {
      const prompt = promptOf('aimock')
      mock.onVideo(prompt, { video } as never)
      const ref = await adapter.submit({ prompt, duration: 4, resolution: '720p' }, at('openrouter'))
      return await until('its end', async () => {
        const state = await adapter.check(ref, at('openrouter'))
        return state.state !== 'running' && state
      })
    }
    const made = await endOf({ id: 'v1', status: 'completed', b64: CLIP.toString('base64'), cost: 0.5 })
    const file = made.state === 'succeeded' && made.made.files[0]
    if (!file || file.from !== 'url') throw new Error(JSON.stringify(made))
    const got = await fetch(file.url, { headers: file.headers ?? {} })
    expect(Buffer.from(await got.arrayBuffer()).equals(CLIP)).to.equal(true)
    expect(file.headers).to.include({ authorization: 'Bearer made-up' })
    expect(await endOf({ id: 'v2', status: 'failed', error: 'no' })).to.include({ state: 'failed' })
  })
})
