import { expect } from 'chai'
import { checkMessages } from '../../../../src/shared/chat/messages/check.ts'

const MODEL = { partTokens: { image: 1, document: 1 }, upstreams: [{ allow: [] }] }
const checked = (messages: object[], more: object = {}, betas?: string) =>
  checkMessages({ model: 'm', max_tokens: 9, messages, ...more }, MODEL, betas ? { 'anthropic-beta': betas } : {})

describe('a request of the Messages API', () => {
  it('has back whatever a vendor added to what its model thought and called', () => {
    const messages = [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's', novel: 1 },
          { type: 'redacted_thinking', data: 'd', novel: null },
          { type: 'tool_use', id: 'a', name: 'f', input: {}, toolset_name: null, caller: { type: 'direct' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
    ]
    expect(checked(messages).request.messages).to.deep.equal(messages)
    expect(() => checked([{ role: 'user', content: [{ type: 'text', text: 'a', novel: 1 }] }])).to.throw(/novel/)
  })

  const USED: [what: object, turn: object, beta: string][] = [
    [{ tools: [{ type: 'computer_20250124', name: 'computer' }] }, {}, 'computer-use-2025-01-24'],
    [{ tools: [{ type: 'computer_20251124', name: 'computer' }] }, {}, 'computer-use-2025-11-24'],
    [{}, { output_config: { effort: 'low' } }, 'mid-conversation-output-config-2026-07-01'],
    [{ thinking: { type: 'adaptive', display: 'updates' } }, {}, 'thinking-display-updates-2026-08-18'],
    [{ tools: [{ type: 'memory_20250818', name: 'memory' }] }, {}, 'context-management-2025-06-27'],
  ]
  for (const [more, turn, beta] of USED)
    it(`passes with the beta that it needs: ${beta}`, () => {
      const { request, betas } = checked(
        [
          { role: 'user', content: 'hi' },
          { role: 'system', content: 'x', ...turn },
        ],
        more,
        `${beta}, x-1`,
      )
      expect(betas).to.deep.equal([beta])
      expect(request).to.deep.include(more)
    })
})
