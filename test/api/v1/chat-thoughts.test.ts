import { expect } from 'chai'
import { chat, prompted } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { claudeAndGpt } from './support/claude-and-gpt.ts'

const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
const THINKING = { type: 'enabled', budget_tokens: 1024 }

type Message = { content: unknown; tool_calls: { id: string }[]; reasoning_content: string }

describe('the thoughts of a Claude in a chat', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, (catalogue) => {
      claudeAndGpt(catalogue)
      const claude = catalogue.models.find(({ id }) => id === 'claude')!
      claude.upstreams = [{ upstream: 'claude', model: 'claude-sandbox', allow: ['thinking'] }]
    })
    account = await anAccount(gateway.db, 1_000_000)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  for (const stream of [false, true]) {
    it(`come back to it with their signatures over three turns, ${stream ? 'streamed' : 'whole'}`, async () => {
      const asking = { model: 'claude', tools: [TOOL], thinking: THINKING, max_tokens: 2000 }
      const messages: object[] = []
      for (const words of ['[tools 2] [sealed-thoughts]', '[tools 2] [answer Let me see.]', '[answer Done.]']) {
        const prompt = prompted(`${words} [thoughts I wonder]`)
        messages.push({ role: 'user', content: prompt })
        // The sandbox takes back what it signed alone.
        const reply = await chat(gateway, account, '', { ...asking, messages, stream })
        expect(reply.status, reply.text).to.equal(200)
        const kept = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
        const { message } = kept.json.choices[0] as { message: Message }
        expect(message.reasoning_content).to.equal('I wonder')
        const results = (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'a' }))
        messages.push(message, ...results)
      }
      const last = await chat(gateway, account, '', {
        ...asking,
        messages: [...messages, { role: 'user', content: prompted('[answer ok]') }],
      })
      expect(last.json.choices[0].message.content, last.text).to.equal('ok')
      type Turn = { role: string; content: { type: string; thinking?: string }[] }
      const prompt = (messages.at(-2) as { content: string }).content
      const sent = (gateway.sandbox.journal(prompt).at(-1)!.body as { messages: Turn[] }).messages
      const kinds = sent
        .filter(({ role }) => role === 'assistant')
        .map(({ content }) => content.map(({ type }) => type))
      expect(kinds).to.deep.equal([
        ['thinking', 'redacted_thinking', 'tool_use', 'tool_use'],
        ['thinking', 'text', 'tool_use', 'tool_use'],
      ])
    })
  }
})
