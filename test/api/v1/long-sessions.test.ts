import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { send } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { knowsTurns, longestTurn } from '../../support/turns.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'

/** The longest turn of web, worker and sandbox, which share a thread here, for a body of 10 MB, in ms of CPU. */
const LONGEST_TURN_MS = 2000

type Fields = Record<string, unknown>

/** Turns of an agent, which calls a tool and reads its result; the last one is a prompt for the sandbox. */
function sessionOf(turns: number, resultBytes: number): Fields[] {
  const messages = Array.from({ length: turns - 1 }, (_, at): Fields => {
    const input = { path: '/a', limit: 3 }
    if (at % 2 === 1)
      return { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${at}`, name: 'tool_1', input }] }
    const content = 'r'.repeat(resultBytes)
    return {
      role: 'user',
      content: at === 0 ? 'go' : [{ type: 'tool_result', tool_use_id: `toolu_${at - 1}`, content, is_error: false }],
    }
  })
  return [...messages, { role: 'user', content: prompted('[answer done]') }]
}

const toolsOf = (count: number): Fields[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `tool_${at}`,
    description: 'A tool of an agent. '.repeat(20),
    input_schema: { type: 'object', properties: { path: { type: 'string' }, limit: { type: 'integer' } } },
  }))

describe('a long session of an agent', () => {
  const gateway = useGateway({}, claudeAndGpt)
  const account = useOneAccount(gateway, 100_000_000)

  const ask = (more: Fields): Promise<Reply> =>
    send('POST', `${gateway.url}/v1/messages`, { key: account.key, body: { model: 'claude', max_tokens: 50, ...more } })

  for (const model of ['claude', 'sandbox-chat'])
    it(`may have 20,000 turns and 512 tools by ${model}, while others are answered`, async function () {
      if (!knowsTurns) this.skip()
      let reply!: Reply
      const session = { model, messages: sessionOf(20_000, 800), tools: toolsOf(512) }
      const turn = await longestTurn(async () => {
        reply = await ask(session)
      })
      expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
      expect(reply.json.content).to.deep.equal([{ type: 'text', text: 'done' }])
      expect(turn, 'ms').to.be.below(LONGEST_TURN_MS)
    })

  it('is refused unread where it has more values than such a session needs', async () => {
    const reply = await ask({ messages: [{ role: 'user', content: Array.from({ length: 600_000 }, () => 1) }] })
    expect([reply.status, reply.json.error.type]).to.deep.equal([400, 'invalid_request_error'])
    expect(reply.json.error.message).to.match(/more than 524288 values/)
  })
})
