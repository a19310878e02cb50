import { expect } from 'chai'
import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import { listOf } from '../../../../src/shared/platform/fields.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { ask } from '../translated.ts'

const HELLO = [{ role: 'user', content: 'hello' }]
const SKIPPED = 'skip_thought_signature_validator'

const answered = (parts: Fields[]): Fields => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
})
const call = (id: string, more: Fields = {}): Fields => ({
  functionCall: { id, name: 'look', args: { at: id } },
  ...more,
})

/** How a client of each dialect asks, and how it sends an answer back with the results of its calls. */
const CLIENTS: Record<Dialect, { first: Fields; back: (answer: Fields, ids: string[]) => Fields }> = {
  chat: {
    first: { messages: HELLO },
    back: ({ choices }, ids) => ({
      messages: [
        ...HELLO,
        listOf(choices)[0]!.message,
        ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'found' })),
      ],
    }),
  },
  messages: {
    first: { messages: HELLO },
    back: ({ content }, ids) => ({
      messages: [
        ...HELLO,
        { role: 'assistant', content },
        { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'found' })) },
      ],
    }),
  },
  responses: {
    first: { input: 'hello' },
    back: ({ output }, ids) => ({
      input: [
        ...HELLO.map((one) => ({ type: 'message', ...one })),
        ...listOf(output),
        ...ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'found' })),
      ],
    }),
  },
  gemini: {
    first: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    back: ({ candidates }, ids) => ({
      contents: [
        { role: 'user', parts: [{ text: 'hello' }] },
        listOf(candidates)[0]!.content,
        {
          role: 'user',
          parts: ids.map((id) => ({ functionResponse: { id, name: 'look', response: { output: 'found' } } })),
        },
      ],
    }),
  },
}

/** The signatures in what is sent, by what they sign. */
const signaturesIn = (body: Fields): unknown[] =>
  listOf(body.contents).flatMap(({ parts }) =>
    listOf(parts).flatMap(({ functionCall, thoughtSignature: signature }) =>
      functionCall !== undefined || signature !== undefined ? [signature ?? null] : [],
    ),
  )

describe('the signatures of a Gemini', () => {
  for (const [dialect, { first, back }] of Object.entries(CLIENTS) as [Dialect, (typeof CLIENTS)[Dialect]][]) {
    it(`go back to the route that made them alone, sealed on their way: ${dialect}`, async () => {
      const parts = [{ text: 'I look.' }, call('c1', { thoughtSignature: 'SIG1' }), call('c2')]
      const answer = await ask(dialect, first, 'gemini').answer(answered(parts))
      expect(JSON.stringify(answer)).to.not.include('SIG1')
      const next = back(answer, ['c1', 'c2'])
      expect(signaturesIn(ask(dialect, next, 'gemini').body)).to.deep.equal(['SIG1', null])
      expect(signaturesIn(ask(dialect, next, 'gemini', 'b').body)).to.deep.equal([SKIPPED, null])
      for (const elsewhere of ['openai', 'openrouter', 'anthropic', 'responses'] as const)
        expect(JSON.stringify(ask(dialect, next, elsewhere, 'b').body)).to.not.include('tollgate1.')
    })
  }

  it('go back behind the text that they sign, in their own dialect', async () => {
    const { first, back } = CLIENTS.gemini
    const parts = [{ text: 'Hm.', thought: true }, { text: 'Done.' }, { text: '', thoughtSignature: 'SIG2' }]
    const answer = await ask('gemini', first, 'gemini').answer(answered(parts))
    expect(JSON.stringify(answer)).to.not.include('SIG2')
    const next = back(answer, [])
    expect(signaturesIn(ask('gemini', next, 'gemini').body)).to.deep.equal(['SIG2'])
    expect(signaturesIn(ask('gemini', next, 'gemini', 'b').body)).to.deep.equal([])
  })
})
