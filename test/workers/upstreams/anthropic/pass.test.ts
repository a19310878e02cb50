import { expect } from 'chai'
import { messagesForm } from '../../../../src/shared/chat/messages/answer.ts'
import { withPictures } from '../../../../src/shared/chat/messages/parts.ts'
import { dialectOf } from '../../../../src/shared/chat/dialect.ts'
import type { ChatRequest } from '../../../../src/shared/requests/requests.ts'
import { MessagesPassThrough } from '../../../../src/workers/upstreams/anthropic/pass.ts'
import { eventsIn, streamOf } from '../answer-bodies.ts'

const asked = (messages: object[]) => ({ max_tokens: 10, messages }) as ChatRequest
const user = (...content: object[]) => ({ role: 'user', content })

// What is sent of a message: sent-bodies.test.ts.
describe('a message to an upstream of its own dialect', () => {
  it('has every picture by its bytes where we fetch them', () => {
    const picture = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const document = { type: 'document', source: { type: 'content', content: [picture] } }
    const result = { type: 'tool_result', tool_use_id: 'a', content: [picture, document] }
    const request = asked([user(picture, document, result)])
    expect(dialectOf('messages').addresses(request)).to.have.length(4)
    expect(dialectOf('messages').addresses(withPictures(request, () => 'data:image/png;base64,AA=='))).to.deep.equal([])
  })

  it('has the bytes of a fetched JPEG under the one name that the API knows', () => {
    const request = asked([user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.jpg' } })])
    const [turn] = withPictures(request, () => 'data:image/JPG;base64,AA==').messages
    const source = { type: 'base64', media_type: 'image/jpeg', data: 'AA==' }
    expect(turn!.content).to.deep.equal([{ type: 'image', source }])
  })

  it('is read whatever the types in its answer are', () => {
    const odd = { toString: 1 }
    expect(messagesForm.reasons({ type: 'content_block_delta', delta: { type: odd } })).to.equal(false)
    expect(messagesForm.reasons({ type: 'content_block_delta', delta: { type: 'thinking_delta' } })).to.equal(true)
  })

  it('has the bytes of each event of its answer, where nothing in it has to change, known here or not', async () => {
    const start = { type: 'message_start', message: { id: 'msg_1', content: [] } }
    const block = '{ "type" : "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}'
    const lines: [line: string, written: string[]][] = [
      [block, [block]],
      [
        String.raw`{"index":0,"delta":{"type":"text_delta","text":"\u0041"},"type":"content_block_delta","n":1e2 }`,
        [String.raw`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\u0041"},"n":1e2 }`],
      ],
      ['{"type":"novel_event", "n":12345678901234567890}', ['{"type":"novel_event", "n":12345678901234567890}']],
      ['{"type":"ping"}', []],
      ['{"type":"novel_event","usage":{"input_tokens":1}}', []],
      ['{"type":"content_block_stop","index": 0}', ['{"type":"content_block_stop","index": 0}']],
    ]
    const { events } = await eventsIn(new MessagesPassThrough(), streamOf(start, ...lines.map(([line]) => line)))
    const written = events.flatMap((event) =>
      event.type === 'frame' ? [messagesForm.written(event.frame, 'm', event.text)] : [],
    )
    expect(written.slice(1)).to.deep.equal(lines.flatMap(([, expected]) => expected))
  })

  it('has no frame of an answer that is no message', async () => {
    for (const answer of [{ status: 'queued' }, {}, { id: 'msg_1', role: 'assistant', stop_reason: null }]) {
      const { events, error } = await eventsIn(new MessagesPassThrough(), JSON.stringify(answer))
      expect(events).to.deep.equal([])
      expect(error).to.include({ kind: 'unknown' })
    }
  })
})
