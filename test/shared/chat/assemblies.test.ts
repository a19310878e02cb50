import { expect } from 'chai'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import { MessageEncoder } from '../../../src/shared/chat/messages/write-frames.ts'
import { ToolCalls } from '../../../src/workers/upstreams/tool-calls.ts'
import { cpuRatio } from '../../support/pace.ts'

/** How many pieces an answer comes in. */
const PIECES = 1000

type Frame = Record<string, unknown>

const choice = (more: Frame): Frame => ({ id: 'c', created: 1, choices: [{ index: 0, finish_reason: null, ...more }] })
const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const blockDelta = (delta: Frame): Frame => ({ type: 'content_block_delta', index: 0, delta })
const item = { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', summary: [] } }

const contentOf = (...parts: Frame[]): Frame => ({ candidates: [{ content: { parts } }] })

/** What an upstream repeats in each piece, and what may come first. */
const REPEATED: Record<string, { dialect: Dialect; first?: Frame; piece: (nth: number) => Frame }> = {
  'thoughts in details of one each': {
    dialect: 'chat',
    piece: (nth) => choice({ delta: { reasoning_details: [{ type: 'reasoning.text', text: 'a', index: nth }] } }),
  },
  'parts of content': {
    dialect: 'chat',
    piece: (nth) => choice({ delta: { content: [{ type: 'image', url: `u${nth}` }] } }),
  },
  probabilities: {
    dialect: 'chat',
    piece: (nth) => choice({ delta: { content: 'a' }, logprobs: { content: [{ token: `${nth}` }] } }),
  },
  'fields of chunks': {
    dialect: 'chat',
    piece: (nth) => ({ ...choice({ delta: { content: 'a' } }), [`f${nth}`]: nth }),
  },
  citations: {
    dialect: 'messages',
    first: block,
    piece: (nth) => blockDelta({ type: 'citations_delta', citation: { cited_text: `${nth}` } }),
  },
  words: { dialect: 'messages', first: block, piece: () => blockDelta({ type: 'text_delta', text: 'ab ' }) },
  'reasons to stop': { dialect: 'messages', piece: (nth) => ({ type: 'message_delta', delta: { [`f${nth}`]: nth } }) },
  'words of contents': { dialect: 'gemini', piece: () => contentOf({ text: 'ab ' }) },
  'calls of functions': {
    dialect: 'gemini',
    piece: (nth) => contentOf({ functionCall: { name: 'f', args: { nth } } }),
  },
  'parts of a summary': {
    dialect: 'responses',
    first: item,
    piece: (nth) => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: nth,
      delta: 'a',
    }),
  },
}

/** How many times the pieces: a list that is copied for each of them takes as many times as long a piece. */
const LONGER = 8

/** The CPU time of a longer answer, as a share of that of as many pieces in answers of the usual length. */
const growth = (work: (pieces: number) => void): number =>
  cpuRatio(
    () => work(LONGER * PIECES),
    () => {
      for (let time = 0; time < LONGER; time++) work(PIECES)
    },
    6,
  )

describe('putting an answer together takes time in proportion to its pieces', () => {
  for (const [name, { dialect, first, piece }] of Object.entries(REPEATED)) {
    it(`${dialect}: ${name}`, () => {
      const assembled = (pieces: number): void => {
        const assembly = dialectOf(dialect).answers.assemble(Infinity)
        if (first) assembly.add(first)
        for (let nth = 0; nth < pieces; nth++) assembly.add(piece(nth))
        assembly.answer('stop')
      }
      expect(growth(assembled)).to.be.below(5)
    })
  }

  it('blocks that wait for a call of a tool to end', () => {
    const encoded = (pieces: number): void => {
      const encoder = new MessageEncoder(1, () => '')
      encoder.framesOf({ is: 'block', block: 0, kind: 'tool_call', id: 'a', name: 'f' })
      for (let nth = 1; nth <= pieces; nth++) {
        encoder.framesOf({ is: 'block', block: nth, kind: 'text' })
        encoder.framesOf({ is: 'stop', block: nth })
      }
      encoder.framesOf({ is: 'end', reason: 'done' })
    }
    expect(growth(encoded)).to.be.below(5)
  })

  it('arguments of a call whose name comes every time, and no id', () => {
    const taken = (pieces: number): void => {
      const calls = new ToolCalls()
      calls.take([{ index: 0, function: { name: 'f', arguments: '{"a":"' } }])
      for (let nth = 0; nth < pieces; nth++) calls.take([{ index: 0, function: { name: 'f', arguments: 'words } ' } }])
    }
    expect(growth(taken)).to.be.below(5)
  })
})

describe('an answer that is put together', () => {
  it('has as many bytes of words as its frames', () => {
    for (const [dialect, frames] of [
      ['chat', [choice({ delta: { content: 'é', reasoning_content: 'abc', reasoning: 'abc' } })]],
      ['messages', [block, blockDelta({ type: 'text_delta', text: 'éabc' })]],
      ['responses', [item, { type: 'response.refusal.delta', output_index: 0, delta: 'éabc' }]],
      ['gemini', [contentOf({ text: 'é', thought: true }, { functionCall: { name: 'f', args: {} } })]],
    ] as const) {
      const assembly = dialectOf(dialect).answers.assemble(Infinity)
      for (const frame of frames) assembly.add(frame)
      expect(assembly.words, dialect).to.equal(5)
      expect(assembly.tokens, dialect).to.equal(2)
    }
  })

  it('changes nothing of its frames, which may leave later', () => {
    const assembly = dialectOf('chat').answers.assemble(Infinity)
    const frames = ['a', 'b', 'c'].map((text) =>
      choice({
        delta: {
          reasoning_details: [{ type: 'reasoning.text', text, more: [text] }],
          tool_calls: [{ index: 0, x: [text] }],
        },
      }),
    )
    const before = structuredClone(frames)
    for (const frame of frames) assembly.add(frame)
    expect(frames).to.deep.equal(before)
    const [{ message }] = assembly.answer('stop').choices as [{ message: Frame }]
    expect(message.reasoning_details).to.deep.equal([{ type: 'reasoning.text', text: 'abc', more: ['a', 'b', 'c'] }])
    expect(message.tool_calls).to.deep.equal([{ x: ['a', 'b', 'c'] }])
  })
})
