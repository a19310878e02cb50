import { expect } from 'chai'
import { messagesForm } from '../../../../src/shared/chat/messages/answer.ts'
import { withPictures } from '../../../../src/shared/chat/messages/parts.ts'
import { dialectOf } from '../../../../src/shared/chat/dialect.ts'
import type { ChatRequest } from '../../../../src/shared/requests/requests.ts'
import { MessagesPassThrough, passed } from '../../../../src/workers/upstreams/anthropic/pass.ts'
import { sealFor } from '../../../../src/shared/chat/seal.ts'
import { newId } from '../../../../src/shared/platform/ids.ts'
import { eventsIn, streamOf } from '../answer-bodies.ts'
import { routeTo } from '../sandbox-upstreams.ts'

const asked = (messages: object[], more: object = {}) => ({ max_tokens: 10, messages, ...more }) as ChatRequest
const user = (...content: object[]) => ({ role: 'user', content })
const text = { type: 'text', text: 'hello' }
const SEALED = { accountId: newId('account'), route: 'another' }
const blank = { type: 'text', text: ' \n' }
const hour = { type: 'ephemeral', ttl: '1h' }

describe('a message to an upstream of its own dialect', () => {
  const sent = (request: ChatRequest, allow: string[] = []) =>
    passed(request, routeTo('anthropic', 'http://upstream.test', { allow }))

  it('has the fields that this upstream is allowed, whatever another one is', () => {
    const dearer = { speed: 'fast', inference_geo: 'us', service_tier: 'priority' }
    const request = asked([user(text)], dearer)
    expect(sent(request)).to.not.have.any.keys('speed', 'inference_geo')
    expect(sent(request)).to.include({ service_tier: 'standard_only' })
    expect(sent(request, Object.keys(dearer))).to.include(dearer)
  })

  it('has a budget of thinking below its limit, and no thinking where there is no room for any', () => {
    const thinking = { type: 'enabled', budget_tokens: 9000 }
    const budgetAt = (max_tokens: number): unknown => sent(asked([user(text)], { max_tokens, thinking })).thinking
    expect(budgetAt(9001)).to.deep.equal(thinking)
    expect(budgetAt(9000)).to.deep.equal({ ...thinking, budget_tokens: 8999 })
    expect(budgetAt(1024)).to.deep.equal({ type: 'disabled' })
  })

  it('asks for caches of an hour only where this upstream is allowed them', () => {
    const marked = { ...text, cache_control: hour }
    const document = { type: 'document', source: { type: 'content', content: [marked] } }
    const result = { type: 'tool_result', tool_use_id: 'a', content: [document] }
    const request = asked([user(marked, result)], {
      cache_control: hour,
      system: [marked],
      tools: [{ name: 'a', input_schema: { type: 'object', content: marked }, cache_control: hour }],
    })
    const json = JSON.stringify(sent(request))
    expect(json.split('"ttl":"1h"'), 'all but that in the schema, which is none').to.have.length(2)
    expect(JSON.stringify(sent(request, ['cache_control.ttl'])).split('"ttl":"1h"')).to.have.length(7)
  })

  it('has nothing that the API refuses, and every other turn as it came', () => {
    const unsigned = { type: 'thinking', thinking: 'hm', signature: '' }
    const foreign = { type: 'redacted_thinking', data: sealFor('secret', SEALED).seal({ sealed: 'x' }) }
    const result = (content: unknown) => user({ type: 'tool_result', tool_use_id: 'a', content })
    const bare = user({ type: 'tool_result', tool_use_id: 'a' })
    const sentences: [turn: object, sent: object | null][] = [
      [user(text), user(text)],
      [{ role: 'assistant', content: [unsigned] }, null],
      [{ role: 'assistant', content: [foreign] }, null],
      [
        { role: 'assistant', content: [foreign, text] },
        { role: 'assistant', content: [text] },
      ],
      [user(blank), null],
      [user(), null],
      [{ role: 'user', content: '' }, null],
      [{ role: 'user', content: '  ' }, null],
      [result('  '), bare],
      [result([blank]), bare],
      [result([blank, text]), result([text])],
    ]
    for (const [turn, expected] of sentences) {
      const first = user(text)
      expect(sent(asked([first, turn])).messages, JSON.stringify(turn)).to.deep.equal(
        expected ? [first, expected] : [first],
      )
    }
    const begun = { role: 'assistant', content: [text] }
    expect(sent(asked([user(blank), begun])).messages).to.deep.equal([{ role: 'user', content: '.' }, begun])
    expect(sent(asked([user(blank)])).messages).to.deep.equal([{ role: 'user', content: '.' }])
    for (const system of ['', ' ', [blank], []])
      expect(sent(asked([user(text)], { system }))).to.not.have.property('system')
    expect(sent(asked([user(text)], { system: [blank, text] })).system).to.deep.equal([text])
  })

  it('has schemas of objects, closed where the model must follow them, and no blank words in any block', () => {
    const schema = { properties: { a: { type: 'string', minLength: 1 } } }
    const tools = [
      { name: 'a', strict: true, input_schema: schema },
      { name: 'b', input_schema: { type: null } },
    ]
    const a = { type: 'string', description: '{"minLength":1}' }
    const content = [{ type: 'search_result', source: 's', title: 't', content: [blank, text] }]
    const { messages, tools: sentTools } = sent(asked([user(...content)], { tools }))
    expect(sentTools).to.deep.equal([
      { ...tools[0], input_schema: { type: 'object', properties: { a }, additionalProperties: false } },
      { name: 'b', input_schema: { type: 'object' } },
    ])
    expect(messages).to.deep.equal([user({ ...content[0], content: [text] })])
  })

  it('has an id of its own for each call, and each result that of its call', () => {
    const call = (id: string) => ({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] })
    const result = (id: string) => user({ type: 'tool_result', tool_use_id: id, content: 'x' })
    const turns = [
      user(text),
      call('call_0'),
      result('call_0'),
      call('call_0'),
      result('call_0'),
      call('a.b'),
      result('a.b'),
    ]
    expect(sent(asked(turns)).messages).to.deep.equal([
      ...turns.slice(0, 3),
      call('call_0_2'),
      result('call_0_2'),
      call('a_b'),
      result('a_b'),
    ])
  })

  it('has the type that a picture has by its bytes', () => {
    const picture = (media_type: string, data: string) =>
      user({ type: 'image', source: { type: 'base64', media_type, data } })
    expect(sent(asked([picture('image/png', '/9j/4AAQSkZJRgABAQAAAQABAAD')])).messages).to.deep.equal([
      picture('image/jpeg', '/9j/4AAQSkZJRgABAQAAAQABAAD'),
    ])
    expect(sent(asked([picture('image/jpg', 'AAAA')])).messages).to.deep.equal([picture('image/jpeg', 'AAAA')])
  })

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
