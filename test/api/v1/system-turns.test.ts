import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import { expectBooksToBalance } from '../../support/books.ts'

type Message = { role: string; content: unknown }

const tool = { name: 'look', input_schema: { type: 'object' } }

describe('what the system says in the middle of a message', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, ({ upstreams, models }) => {
      upstreams.strict = { ...upstreams.sandbox, systemAnywhere: false }
      const chat = models.find(({ id }) => id === 'sandbox-chat')!
      models.push({ ...chat, id: 'strict-chat', upstreams: [{ upstream: 'strict', model: 'gpt-sandbox' }] })
    })
    account = await anAccount(gateway.db, 10_000)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  async function sent(model: string, messages: Message[], prompt: string, more: object = {}): Promise<unknown> {
    const reply = await post(`${gateway.url}/v1/messages`, account.key, { model, max_tokens: 50, messages, ...more })
    expect(reply.status, reply.text).to.equal(200)
    return (gateway.sandbox.journal(prompt).at(-1)!.body as { messages: unknown }).messages
  }

  const turns = (prompt: string): Message[] => [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
    { role: 'system', content: 'be brief' },
    { role: 'user', content: prompt },
  ]

  it('reaches a chat upstream in its place', async () => {
    const prompt = prompted('[answer x]')
    expect(await sent('sandbox-chat', turns(prompt), prompt)).to.deep.equal(turns(prompt))
  })

  it("stands in the user's next turn, where the upstream takes it only at the beginning", async () => {
    const prompt = prompted('[answer x]')
    const said = `<system>\nbe brief\n</system>`
    // The sandbox knows a prompt by its last message.
    const whole = `${prompt}\n\n${said}`
    expect(await sent('strict-chat', turns(prompt), whole, { system: 'first' })).to.deep.equal([
      { role: 'system', content: 'first' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: whole },
    ])
  })

  it('stands behind the results of tools there, and in a turn of its own at the end', async () => {
    const prompt = prompted('[answer x]')
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'system', content: 'be brief' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }] },
      { role: 'system', content: prompt },
    ]
    const last = `<system>\n${prompt}\n</system>`
    const received = (await sent('strict-chat', messages, last, { tools: [tool] })) as Message[]
    expect(received.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool', 'user', 'user'])
    expect(received.slice(3).map(({ content }) => content)).to.deep.equal(['<system>\nbe brief\n</system>', last])
  })
})
