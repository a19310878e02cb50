import { expect } from 'chai'
import { chatForm } from '../../../src/shared/chat/completions/answer.ts'
import fc from 'fast-check'
import { ChatAssembly } from '../../../src/shared/chat/completions/join-frames.ts'
import { OpenaiChunks } from '../../../src/workers/upstreams/openai/chunks.ts'
import { ToolCalls } from '../../../src/workers/upstreams/tool-calls.ts'
import { collected, readChat } from '../../../src/workers/upstreams/translation.ts'
import { answerIn, bodyOf, eventsIn, streamOf } from './answer-bodies.ts'
import { choiceOf } from './sandbox-upstreams.ts'

/** Calls of tools as clients put them together: by their numbers, labels as they come, arguments appended. */
function asClientsJoin(chunks: Piece[]): Piece[] {
  const joined: { [field: string]: unknown; function: Piece }[] = []
  for (const chunk of chunks) {
    for (const { index, function: called, ...labels } of callsIn(chunk)) {
      joined[index] ??= { function: { name: '', arguments: '' } }
      const { name: label, arguments: text } = called
      const before = joined[index].function
      const sum = { name: label ?? before.name, arguments: `${String(before.arguments)}${String(text)}` }
      joined[index] = { ...joined[index], ...labels, function: sum }
    }
  }
  return joined
}

type CallPiece = { index: number; function: Piece; [field: string]: unknown }

const callsIn = (chunk: Piece): CallPiece[] =>
  (chunk.choices as { delta: { tool_calls?: CallPiece[] } }[]).flatMap(({ delta }) => delta.tool_calls ?? [])

type Call = { id: string; name: string; args: Record<string, unknown> }
type Piece = Record<string, unknown>

/** How servers number the pieces of calls: with what in the first piece of a call, and in the later ones. */
const NUMBERINGS: Record<string, (call: Call, at: number) => { first: Piece; later: Piece }> = {
  'as OpenAI does': ({ id }, at) => ({ first: { index: at, id, type: 'function' }, later: { index: at } }),
  'from one': ({ id }, at) => ({ first: { index: at + 1, id }, later: { index: at + 1 } }),
  'all with zero, by ids alone': ({ id }) => ({ first: { index: 0, id }, later: { index: 0 } }),
  'not at all, with the id every time': ({ id }) => ({ first: { id }, later: { id } }),
  'not at all, with the id once': ({ id }) => ({ first: { id, type: '' }, later: {} }),
  'as texts, with empty ids behind': ({ id }, at) => ({
    first: { index: String(at), id, type: null },
    later: { index: String(at), id: '', type: '' },
  }),
}

const word = fc.string({ minLength: 1, maxLength: 12 })
const name = fc.stringMatching(/^[a-z][a-z_]{0,11}$/)
const args = fc.dictionary(name, fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(null)), { maxKeys: 3 })
const calls = fc
  .array(fc.record({ name, args }), { maxLength: 4 })
  .map((list) => list.map((call, at): Call => ({ ...call, id: `call_${at}` })))
const answer = fc.record({
  content: fc.array(word, { maxLength: 6 }),
  thoughts: fc.array(word, { maxLength: 4 }),
  calls,
})

/** A text in pieces, cut at places that fast-check chooses. */
const cutAt = (text: string, places: number[]): string[] => {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...ends]
    .map((from, at, all) => text.slice(from, all[at + 1] ?? text.length))
    .filter((piece) => piece !== '')
}

const chunkOf = (delta: Piece, finish: string | null = null) => ({
  id: 'x',
  created: 1,
  choices: [{ index: 0, delta, finish_reason: finish }],
})

describe('an answer in pieces', () => {
  for (const [how, numbering] of Object.entries(NUMBERINGS)) {
    it(`is the same as whole, whatever is cut where, where calls are numbered ${how}`, async () => {
      const shape = fc.record({
        answer,
        places: fc.array(fc.nat(200), { maxLength: 5 }),
        bytes: fc.array(fc.nat(3000), { maxLength: 6 }),
        repeatsName: fc.boolean(),
        asList: fc.boolean(),
        asObject: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(shape, async ({ answer: one, places, bytes, repeatsName, asList, asObject }) => {
          const words = (text: string) => (asList ? [{ type: 'text', text }] : text)
          const ofCalls = one.calls.flatMap((call, at): Piece[] => {
            const { first, later } = numbering(call, at)
            const text = JSON.stringify(call.args)
            if (asObject) return [{ ...first, function: { name: call.name, arguments: call.args } }]
            const pieces = cutAt(text, places)
            return [
              { ...first, function: { name: call.name, arguments: '' } },
              ...pieces.map((piece) => ({
                ...later,
                function: { ...(repeatsName ? { name: call.name } : {}), arguments: piece },
              })),
            ]
          })
          const events = [
            chunkOf({ role: 'assistant', content: '' }),
            ...one.thoughts.map((text) => chunkOf({ reasoning_content: text })),
            ...one.content.map((text) => chunkOf({ content: words(text) })),
            ...ofCalls.map((piece) => chunkOf({ tool_calls: [piece] })),
            chunkOf({}, 'stop'),
            '[DONE]',
          ]
          const message = {
            role: 'assistant',
            content: one.content.join('') || null,
            ...(one.thoughts.length > 0 && { reasoning_content: one.thoughts.join('') }),
            ...(one.calls.length > 0 && {
              tool_calls: one.calls.map((call) => ({
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: JSON.stringify(call.args) },
              })),
            }),
          }
          const whole = JSON.stringify({ id: 'x', created: 1, choices: [{ index: 0, message, finish_reason: 'stop' }] })
          const expected = await answerIn(new OpenaiChunks(1), whole)
          expect(choiceOf(expected).message).to.deep.equal(message)

          const stream = Buffer.from(streamOf(...events))
          const ends = [0, ...new Set(bytes.map((place) => place % stream.length)), stream.length]
          const parts = ends.toSorted((a, b) => a - b).map((from, at, all) => stream.subarray(from, all[at + 1]))
          const streamed = await collected(
            (take) => readChat(bodyOf(parts), new OpenaiChunks(1), {}, take),
            chatForm,
            1_000_000,
          )
          expect(choiceOf(streamed)).to.deep.equal(choiceOf(expected))
        }),
        { numRuns: 150 },
      )
    })
  }

  it('is the same again where its chunks, as they are passed on, are put together', async () => {
    const piece = fc.record(
      {
        index: fc.oneof(fc.nat(2), fc.constant(null)),
        id: fc.constantFrom('', 'a', 'b', null),
        type: fc.constantFrom('function', '', null),
        function: fc.record(
          {
            name: fc.constantFrom('', 'f', 'g', null),
            arguments: fc.constantFrom('', '{', '}', '{}', '"a":1', null, {}),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    )
    const parts = fc.array(
      fc.oneof(
        fc.string(),
        fc.constant(null),
        fc.constantFrom({ type: 'text', text: 'x' }, { type: 'image_url', url: 'u' }),
      ),
      { maxLength: 3 },
    )
    const delta = fc.record(
      {
        content: fc.oneof(fc.string(), fc.constant(null), parts),
        reasoning: fc.string(),
        reasoning_details: fc.array(fc.record({ type: fc.constant('reasoning.text'), text: fc.string() }), {
          maxLength: 2,
        }),
        tool_calls: fc.oneof(fc.array(piece, { maxLength: 3 }), fc.constant(null)),
        function_call: fc.record({ name: fc.constantFrom('f', ''), arguments: fc.constantFrom('', '{}', '{', null) }),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(delta, { maxLength: 6 }), async (deltas) => {
        const stream = streamOf(...deltas.map((one) => chunkOf(one)), chunkOf({}, 'stop'), '[DONE]')
        const { events, error } = await eventsIn(new OpenaiChunks(1), stream)
        expect(error).to.equal(null)
        const chunks = events.flatMap((event) => (event.type === 'frame' ? [event.frame] : []))
        const assembly = new ChatAssembly(Infinity)
        for (const chunk of chunks) assembly.add(chunk)
        const { message } = choiceOf({ answer: assembly.answer('stop'), usage: null })
        expect(message.tool_calls ?? []).to.deep.equal(asClientsJoin(chunks))
        for (const call of message.tool_calls ?? []) {
          expect(call.id, JSON.stringify(call)).to.be.a('string').that.is.not.empty
          expect(call.type).to.equal('function')
          expect(call.function.arguments.trim()).to.not.equal('')
        }
        const ids = (message.tool_calls ?? []).map(({ id }) => id)
        expect(new Set(ids).size).to.equal(ids.length)
        expect((chunks[0]!.choices as { delta: Piece }[])[0]!.delta.role).to.equal('assistant')
      }),
      { numRuns: 500 },
    )
  })

  it('has its words wherever they are: in a delta, or in a message or a text in its place', async () => {
    const piece = (content: string, finish: string | null) => ({
      choices: [{ message: { role: 'assistant', content }, finish_reason: finish }],
    })
    for (const stream of [
      streamOf(piece('a', null), piece('b', 'stop'), '[DONE]'),
      streamOf(piece('a', null), piece('ab', 'stop'), '[DONE]'),
      streamOf({ choices: [{ delta: {}, message: { content: 'ab' } }] }, chunkOf({}, 'stop'), '[DONE]'),
      streamOf({ choices: [{ delta: 'ab', finish_reason: 'stop' }] }, '[DONE]'),
      streamOf({ choices: [{ text: 'ab', finish_reason: 'stop' }] }, '[DONE]'),
    ]) {
      expect(choiceOf(await answerIn(new OpenaiChunks(1), stream)).message.content, stream).to.equal('ab')
    }
  })

  it('keeps a list that is more than text, its texts joined', async () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const stream = streamOf(
      chunkOf({ content: [{ type: 'text', text: 'a' }, picture] }),
      chunkOf({ content: 'b' }),
      chunkOf({ content: 'c' }, 'stop'),
    )
    expect(choiceOf(await answerIn(new OpenaiChunks(1), stream)).message.content).to.deep.equal([
      { type: 'text', text: 'a' },
      picture,
      { type: 'text', text: 'bc' },
    ])
  })
})

describe('calls of tools', () => {
  it('get an id where their upstream has none, and each its own', () => {
    const made = new ToolCalls()
    const passed = [
      ...made.take([
        { function: { name: 'f', arguments: '{"a":1}' } },
        { function: { name: 'f', arguments: '{"a":2}' } },
      ]),
      ...made.end(),
    ]
    const ids = passed.map(({ id }) => id)
    expect(ids.every((id) => String(id).startsWith('call_'))).to.equal(true)
    expect(new Set(ids).size).to.equal(2)
  })

  it('have their arguments as an object, though an upstream encodes them twice', () => {
    const twice = JSON.stringify('{"a":"1"}')
    for (const pieces of [[twice], [twice.slice(0, 5), twice.slice(5)]]) {
      const made = new ToolCalls()
      const passed = pieces.flatMap((text) =>
        made.take([{ index: 0, id: 'a', function: { name: 'f', arguments: text } }]),
      )
      const all = [...passed, ...made.end()].map((one) => (one.function as { arguments: string }).arguments)
      expect(all.join('')).to.equal('{"a":"1"}')
    }
  })

  it('have their arguments once, though an upstream says all of them again at the end', () => {
    const made = new ToolCalls()
    const piece = (text: string) => made.take([{ index: 0, id: 'a', function: { name: 'f', arguments: text } }])
    const passed = [...piece('{"a":'), ...piece('1}'), ...piece('{"a":1}'), ...made.end()]
    expect(passed.map((one) => (one.function as { arguments: string }).arguments).join('')).to.equal('{"a":1}')
  })
})
