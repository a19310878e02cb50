import { expect } from 'chai'
import { CALL_SIGNATURE } from '../../../../src/shared/chat/canonical.ts'
import type { Block } from '../../../../src/shared/chat/canonical.ts'
import { GeminiEncoder } from '../../../../src/shared/chat/gemini/write-frames.ts'
import { camelCased } from '../../../../src/shared/chat/gemini/names.ts'
import { candidateOf, partsOfCandidate } from '../../../../src/shared/chat/gemini/join-frames.ts'
import { canonicalGemini } from '../../../../src/shared/chat/gemini/read-request.ts'
import { jsonSchemaOf } from '../../../../src/shared/chat/gemini/schemas.ts'
import type { AnswerEvent } from '../../../../src/shared/chat/events.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import type { ChatRequest } from '../../../../src/shared/requests/requests.ts'

/** Seals by writing, and opens what was sealed so. */
const seal = (fields: Fields): string => `sealed ${JSON.stringify(fields)}`
const open = (text: string): Fields | null =>
  text.startsWith('sealed ') ? (JSON.parse(text.slice(7)) as Fields) : null

/** The parts of an answer with these events. */
function partsOf(...events: AnswerEvent[]): Fields[] {
  const encoder = new GeminiEncoder('call_1', seal)
  const frames = events.flatMap((event) => encoder.framesOf(event))
  return frames.flatMap((frame) => partsOfCandidate(candidateOf(frame)))
}

const blocksOf = (...parts: Fields[]): Block[] => {
  const request = { messages: [], max_tokens: 9, contents: [{ role: 'model', parts }] } as unknown as ChatRequest
  return canonicalGemini(request, open).turns[0]!.blocks
}

const END: AnswerEvent = { is: 'end', reason: 'done' }
const call = (block: number, id: string): AnswerEvent[] => [
  { is: 'block', block, kind: 'tool_call', id, name: 'look' },
  { is: 'delta', block, text: '{"a":1}' },
  { is: 'stop', block },
]

describe('what proves thoughts, in contents', () => {
  const thought: AnswerEvent[] = [
    { is: 'block', block: 0, kind: 'reasoning', format: 'f' },
    { is: 'delta', block: 0, text: 'hm' },
    { is: 'signature', block: 0, signature: 'S' },
    { is: 'stop', block: 0 },
  ]
  const proved = { kind: 'reasoning', text: 'hm', signature: 'S', format: 'f' }

  it('is on the part behind them, with all that its vendor wants back', () => {
    const parts = partsOf(...thought, ...call(1, 'c1'), END)
    expect(parts.map(({ thoughtSignature }) => thoughtSignature !== undefined)).to.deep.equal([false, true, false])
    // With the thoughts and without, they are read once.
    for (const back of [parts, parts.slice(1)])
      expect(blocksOf(...back).map(({ kind }) => kind)).to.deep.equal(['reasoning', 'tool_call'])
    expect(blocksOf(...parts)[0]).to.deep.equal(proved)
  })

  it('is on the first piece of a text, or alone at the end', () => {
    const text: AnswerEvent[] = [
      { is: 'block', block: 1, kind: 'text' },
      { is: 'delta', block: 1, text: 'one' },
      { is: 'delta', block: 1, text: ' two' },
      { is: 'stop', block: 1 },
    ]
    const behind = [partsOf(...thought, ...text, END), partsOf(...thought, END)].map((parts) => parts.slice(1))
    expect(behind.map((parts) => parts.map((part) => 'thoughtSignature' in part))).to.deep.equal([
      [true, false, false],
      [true],
    ])
    expect(blocksOf(...behind[1]!)).to.deep.equal([proved])
  })

  it('belongs to its call, whichever id the client gives that, and is nothing where it cannot be opened', () => {
    const sealed: AnswerEvent[] = [
      { is: 'block', block: 0, kind: 'reasoning', sealed: 'SIG', format: CALL_SIGNATURE, id: 'c1' },
      { is: 'stop', block: 0 },
    ]
    const [{ thoughtSignature } = {}] = partsOf(...sealed, ...call(1, 'c1'), END)
    for (const id of ['c1', 'other', undefined]) {
      const [proof, called] = blocksOf({ functionCall: { name: 'look', args: {}, id }, thoughtSignature })
      expect(proof).to.deep.include({ sealed: 'SIG', id: (called as { id: string }).id })
    }
    const foreign = blocksOf({ functionCall: { name: 'look' }, thoughtSignature: 'skip_thought_signature_validator' })
    expect(foreign.map(({ kind }) => kind)).to.deep.equal(['tool_call'])
  })
})

describe('contents', () => {
  it('are read under both spellings of their names, but for what is the client’s own', () => {
    const body = {
      generation_config: { top_p: 1, response_schema: { any_of: [] } },
      a: [{ inline_data: { mime_type: 'x' } }],
    }
    expect(camelCased(body)).to.deep.equal({
      generationConfig: { topP: 1, responseSchema: { any_of: [] } },
      a: [{ inlineData: { mimeType: 'x' } }],
    })
    const written = { functionCall: { args: { some_name: 1 } } }
    expect(camelCased(written)).to.equal(written)
  })

  it('have schemas in a form of their own, which becomes that of JSON schemas', () => {
    const schema = {
      type: 'OBJECT',
      properties: {
        some_name: { type: 'STRING', format: 'enum', enum: ['a'] },
        type: { type: 'ARRAY', min_items: '2', items: { type: 'NUMBER', format: 'double', nullable: true } },
      },
      property_ordering: ['type'],
      required: ['type'],
    }
    const converted = jsonSchemaOf(schema)
    expect(converted).to.deep.equal({
      type: 'object',
      required: ['type'],
      properties: {
        type: { type: 'array', minItems: 2, items: { type: ['number', 'null'] } },
        some_name: { type: 'string', enum: ['a'] },
      },
    })
    expect(Object.keys(converted.properties as Fields)).to.deep.equal(['type', 'some_name'])
  })

  it('are calls that were cut off as far as they came', () => {
    const events: AnswerEvent[] = [...call(0, 'c1').slice(0, 1), { is: 'delta', block: 0, text: '{"a":"b' }]
    const [part] = partsOf(...events, { is: 'stop', block: 0, isCut: true }, { is: 'end', reason: 'length' })
    expect(part!.functionCall).to.deep.equal({ id: 'c1', name: 'look', args: { a: 'b' } })
  })
})
