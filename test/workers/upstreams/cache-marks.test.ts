import { expect } from 'chai'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { ask } from './translated.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const marked = (text: string) => [{ type: 'text', text, ...MARK }]

describe('the marks of cached prefixes', () => {
  const call = { type: 'tool_use', id: 'c', name: 'f', input: {} }
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'look', ...MARK }] },
    { role: 'assistant', content: [{ type: 'text', text: 'yes', ...MARK }, call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'found', ...MARK }] },
    { role: 'assistant', content: 'so' },
    { role: 'user', content: 'go on' },
  ]
  const contents = (protocol: 'openai' | 'openrouter') =>
    (ask('messages', { messages }, protocol).body.messages as Fields[]).map(({ content }) => content)

  it('are carried to OpenRouter from every turn: of users, of assistants, and of what tools answered', () => {
    expect(contents('openrouter')).to.deep.equal([marked('look'), marked('yes'), marked('found'), 'so', 'go on'])
  })

  it('are not sent to others, which refuse them', () => {
    expect(contents('openai')).to.deep.equal(['look', 'yes', 'found', 'so', 'go on'])
  })

  it('are at most four at a Claude, which refuses more: the last ones', () => {
    const said = (text: string) => ({ role: 'user', content: marked(text) })
    const result = { role: 'tool', tool_call_id: 'c', content: marked('found') }
    const called = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const body = ask(
      'chat',
      {
        tools: [{ type: 'function', function: { name: 'f' }, ...MARK }],
        messages: [
          { role: 'system', content: marked('be') },
          said('one'),
          { role: 'assistant', content: marked('yes'), tool_calls: [called] },
          { ...result, ...MARK },
          said('two'),
        ],
      },
      'anthropic',
    ).body
    expect(JSON.stringify(body).match(/"cache_control"/g)).to.have.lengthOf(4)
    const { tools, system, messages: turns } = body as { tools: Fields[]; system: Fields[]; messages: Fields[] }
    expect([tools[0], system[0]]).to.deep.equal([
      { name: 'f', input_schema: { type: 'object' } },
      { type: 'text', text: 'be' },
    ])
    expect((turns.at(-1)!.content as Fields[]).map((one) => 'cache_control' in one)).to.deep.equal([true, true])
  })
})
