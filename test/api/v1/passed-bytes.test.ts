import { expect } from 'chai'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { send } from '../../../scripts/harness/http.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { Scripted } from '../../upstreams/support/scripted.ts'
import { saying, startScripted, streaming } from '../../upstreams/support/scripted.ts'

type Fields = Record<string, unknown>

/** Values that a careless copy changes. `__proto__` is a key like others. */
const INPUT = JSON.parse(
  '{"z":9007199254740991,"a":[0.1,-0.5,1e+21,1e-7,true,null,{},[],""],"__proto__":{"x":1},' +
    '"text":"é 你好 😀 \u2028 \\" \\\\ \\n \\t \\u0001 </script>","constructor":"c"}',
) as Fields

const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: INPUT }
const TOOLS = [
  { name: 'look', description: 'x', input_schema: { type: 'object', properties: { z: { default: INPUT } } } },
]

/** JSON as some clients spell it, and Node does not. */
const ODD = String.raw`{"a":1.0,"b":10.50,"c":"\u0041\/\u00e9","d":1,"d":2,"10":"ten"}`

describe('a message and its upstream of the same dialect', () => {
  let gateway: Gateway
  let scripted: Scripted
  let account: TestAccount
  before(async () => {
    scripted = await startScripted()
    gateway = await startGateway({}, ({ upstreams, models }) => {
      upstreams.native = { ...upstreams.sandbox, protocol: 'anthropic', baseUrl: scripted.origin }
      const pricing = { input: 1, output: 3, perTokens: 1000, minimum: 1 }
      models.push({ id: 'claude', modality: 'chat', pricing, upstreams: [{ upstream: 'native', model: 'a-claude' }] })
    })
    account = await anAccount(gateway.db, 100_000)
  })
  after(async () => {
    await gateway.stop()
    await scripted.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const ask = (body: string): Promise<Reply> => send('POST', `${gateway.url}/v1/messages`, { key: account.key, body })

  const message = (content: unknown): Fields => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'a-claude',
    content,
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 5 },
  })

  /** Turns in which a tool was called; the prompt is of whom the script says. */
  const turnsOf = (prompt: string): Fields[] => [
    { role: 'user', content: prompt },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }, USE] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen', is_error: false }] },
  ]

  it('exchange turns, tools and answers byte for byte', async () => {
    let sent = ''
    const prompt = scripted.prompt((request, response, body) => {
      sent = body
      saying(JSON.stringify(message([USE])))(request, response, body)
    })
    const messages = turnsOf(prompt)
    const reply = await ask(JSON.stringify({ model: 'claude', max_tokens: 50, tools: TOOLS, messages }))
    expect(reply.status, reply.text).to.equal(200)
    expect(sent)
      .to.include(`"messages":${JSON.stringify(messages)}`)
      .and.include(`"tools":${JSON.stringify(TOOLS)}`)
    expect(reply.text).to.include(`"content":${JSON.stringify([USE])}`)
  })

  it('exchange the events of a stream byte for byte, but for the first and the last two', async () => {
    const { content: _content, ...head } = message([])
    const text = JSON.stringify(INPUT)
    const middle = [
      { type: 'content_block_start', index: 0, content_block: { ...USE, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text.slice(0, 40) } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text.slice(40) } },
      { type: 'content_block_stop', index: 0 },
    ]
    const events = [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
      ...middle,
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ]
    const frame = (event: Fields): string => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
    const prompt = scripted.prompt(streaming(events.map(frame).join('')))
    const reply = await ask(
      JSON.stringify({ model: 'claude', max_tokens: 50, stream: true, messages: turnsOf(prompt) }),
    )
    expect(reply.text).to.include(middle.map(frame).join(''))
  })

  it('exchange JSON that is spelt in another way as what it says', async () => {
    let sent = ''
    const answer = JSON.stringify(message([{ ...USE, input: 'ODD' }])).replace('"ODD"', ODD)
    const prompt = scripted.prompt((request, response, body) => {
      sent = body
      saying(answer)(request, response, body)
    })
    const messages = [
      { role: 'user', content: prompt },
      { role: 'assistant', content: [{ ...USE, input: 'ODD' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
    ]
    const reply = await ask(JSON.stringify({ model: 'claude', max_tokens: 50, messages }).replace('"ODD"', ODD))
    expect(reply.status, reply.text).to.equal(200)
    const said = JSON.parse(ODD) as unknown
    const turns = (JSON.parse(sent) as { messages: { content: { input: unknown }[] }[] }).messages
    expect(turns[1]!.content[0]!.input).to.deep.equal(said)
    expect(reply.json.content[0].input).to.deep.equal(said)
  })
})
