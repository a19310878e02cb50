import { expect } from 'chai'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import type { DirectMediaAdapter, TaskMediaAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { namesLike } from '../../upstreams/recorded/answers.ts'
import { startRecorded } from '../../upstreams/recorded/upstream.ts'
import type { Recorded } from '../../upstreams/recorded/upstream.ts'
import { eventsOf, saying, startScripted, streaming } from '../../upstreams/support/scripted.ts'
import type { Scripted } from '../../upstreams/support/scripted.ts'
import type { Asked } from '../../upstreams/support/targets.ts'
import { chatOf, choiceOf, contextOf, failureOf, routeTo } from '../upstreams/sandbox-upstreams.ts'
import { BOUNDS, readAnswer } from './reading.ts'
import type { ReadAnswer, Way } from './reading.ts'

// The answers are in test/upstreams/recorded/wrong-answers.txt.
describe('an upstream with irregular JSON', () => {
  let recorded: Recorded
  let scripted: Scripted
  let upstreams: Upstreams
  before(async () => {
    recorded = await startRecorded()
    scripted = await startScripted()
    upstreams = createUpstreams({ accountShare: 1 })
  })
  after(async () => {
    await upstreams.close()
    await scripted.close()
    await recorded.close()
  })

  const read = (name: string, way: Way, protocol: Protocol = 'openai'): Promise<ReadAnswer> =>
    readAnswer(upstreams, routeTo(protocol, recorded.origin), chatOf(`[case ${name}]`), way)
  const readText = (text: string, way: Way): Promise<ReadAnswer> => {
    const prompt = scripted.prompt((way === 'W' ? saying : streaming)(text))
    return readAnswer(upstreams, routeTo('openai', scripted.origin), chatOf(prompt), way)
  }
  const messageOf = ({ answer }: ReadAnswer) => choiceOf({ answer, usage: null }).message

  function askFor(name: string): Promise<unknown> {
    const [protocol, , modality] = name.split('-') as [Protocol, string, Asked]
    if (modality === 'chat') return read(name, 'W', protocol)
    const adapter = upstreams.adapterOf(protocol)[modality] as DirectMediaAdapter | TaskMediaAdapter
    const [request, context] = [{ prompt: `[case ${name}]` }, contextOf(routeTo(protocol, recorded.origin))]
    return adapter.kind === 'direct' ? adapter.generate(request, context) : adapter.submit(request, context)
  }

  for (const name of namesLike(/^\w+-nonsense-/)) {
    it(`fails, whatever it costs, with status 200 and ${name}`, async () => {
      await failureOf(askFor(name))
    })
  }

  it('fails with a hundred thousand brackets', async () => {
    await failureOf(readText('['.repeat(100_000), 'W'))
  })

  for (const name of namesLike(/^\w+-usable-.* whole/)) {
    it(`is used as far as possible, and paid by our own count: ${name}`, async () => {
      const got = await read(name, 'W')
      expect(got.answer).to.include({ object: 'chat.completion' })
      expect(got.answer.id).to.be.a('string')
      expect(got.answer.created).to.be.a('number')
      expect(messageOf(got).content).to.equal('ok')
      expect(got.tokens).to.include({ input: BOUNDS.estimate.input, output: 1 })
    })
  }

  // Before its first chunk the status tells of a failure, and after that the last line.
  for (const [way, form] of [
    ['R', /^\w+-broken-/],
    ['S', /^\w+-half-/],
  ] as const) {
    for (const name of namesLike(form)) {
      it(`fails where its stream is ${name}`, async () => {
        await failureOf(read(name, way))
      })
    }
  }

  for (const name of namesLike(/^\w+-usable-.* stream/)) {
    it(`is passed on where its stream is ${name}`, async () => {
      const got = await read(name, 'S')
      expect(messageOf(got).content).to.equal('all of it')
      const ends = got.frames.filter((frame) => frame.includes('"finish_reason":"stop"'))
      expect(ends).to.have.length(1)
    })
  }

  const piece = (delta: object, finish_reason: string | null = null) => ({
    id: 'c',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const toolCall = (index: number) =>
    piece({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] })

  it('is kept without gaps where its stream counts the tool calls from one', async () => {
    const events = eventsOf(toolCall(1), toolCall(3), piece({}, 'tool_calls'))
    const calls = messageOf(await readText(events, 'S')).tool_calls!
    expect(calls.map(({ id }) => id)).to.deep.equal(['c1', 'c3'])
  })

  it('is paid for the tool calls that it has streamed, if a model produces more than are allowed', async () => {
    const calls = Array.from({ length: 1002 }, (_one, index) => toolCall(index))
    const { frames, tokens } = await readText(eventsOf(...calls), 'S')
    expect(frames.at(-1)).to.include('"finish_reason":"length"')
    expect(tokens.output).to.equal(1000)
  })
})
