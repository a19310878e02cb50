import { expect } from 'chai'
import fc from 'fast-check'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import type { EndedCall } from '../../../src/shared/calls/stored-answers.ts'
import { answerOf, errorOutput, mediaOutput } from '../../../src/shared/calls/stored-answers.ts'
import type { Reply } from '../../../src/shared/replies/channels.ts'
import { readReplies, writeReply } from '../../../src/shared/replies/channels.ts'

const ended: EndedCall = {
  callId: newId('call') as never,
  dialect: null,
  modality: 'chat',
  status: 'succeeded',
  httpStatus: 200,
  credits: 3,
  balanceAfter: 997,
  latencyMs: 12,
}
const usage = { input_tokens: 1, output_tokens: 2, prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

describe('the answer of an ended call', () => {
  it('is the completion with what it cost, for chat', () => {
    const answer = answerOf(ended, JSON.stringify({ id: 'c', choices: [], usage }))
    expect(JSON.parse(answer.body)).to.deep.equal({
      ok: true,
      id: 'c',
      choices: [],
      usage: { ...usage, credits: 3, balance: 997 },
    })
  })

  it('is address, cost and latency, for media', () => {
    const answer = answerOf({ ...ended, modality: 'image' }, mediaOutput(1700, ['https://x/y.png']))
    expect(JSON.parse(answer.body)).to.deep.equal({
      ok: true,
      created: 1700,
      data: [{ url: 'https://x/y.png' }],
      usage: { credits: 3, balance: 997, latencyMs: 12 },
    })
  })

  it('is the error under its status, for a failure', () => {
    const error = gatewayError('upstream_failed')
    const failed = { ...ended, status: 'failed', errorType: error.type, httpStatus: 502 } as const
    const answer = answerOf(failed, errorOutput(error))
    expect([answer.status, JSON.parse(answer.body)]).to.deep.equal([502, { ok: false, error }])
  })

  it("is Anthropic's message or error, for a chat that was asked in that dialect", () => {
    const asked = { ...ended, dialect: 'messages' } as const
    expect(JSON.parse(answerOf(asked, '{"id":"msg_1","usage":{"output_tokens":2}}').body)).to.deep.equal({
      id: 'msg_1',
      usage: { output_tokens: 2, credits: 3, balance: 997 },
    })
    const error = gatewayError('upstream_failed')
    const failed = { ...asked, status: 'failed', errorType: error.type, httpStatus: 502 } as const
    expect(JSON.parse(answerOf(failed, errorOutput(error)).body)).to.deep.equal({
      type: 'error',
      error: { ...error, type: 'api_error' },
      request_id: publicId('call', asked.callId),
    })
  })

  it('keeps what an upstream said to the last character, even if it looks like the end of the answer', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: false }), fc.string({ unit: 'binary' }), (extra, content) => {
        const completion = { id: 'c', choices: [{ message: { content: `${content}}}` } }], extra }
        const { body } = answerOf(ended, JSON.stringify({ ...completion, usage }))
        expect(JSON.parse(body)).to.deep.equal(
          JSON.parse(JSON.stringify({ ok: true, ...completion, usage: { ...usage, credits: 3, balance: 997 } })),
        )
      }),
      { numRuns: 40 },
    )
  })
})

describe('a reply through Redis', () => {
  it('is read as it was written', () => {
    const callId: CallId = newId('call')
    const replies: Reply[] = [
      { callId, kind: 'end', answer: { status: 502, body: '{"ok":false, "text":"two\\nlines"}' } },
      { callId, kind: 'update', update: { type: 'running' } },
      { callId, kind: 'update', update: { type: 'progress', progress: 40 } },
      {
        callId,
        kind: 'update',
        update: { type: 'chunks', from: 7, chunks: ['{"a":"\\n"}', '{"b":" "}'], words: 9, isEnd: true },
      },
    ]
    for (const reply of replies) expect(readReplies(writeReply(reply))).to.deep.equal([reply])
  })
})
