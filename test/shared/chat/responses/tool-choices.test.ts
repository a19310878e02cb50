import { expect } from 'chai'
import { checkResponses } from '../../../../src/shared/chat/responses/check.ts'
import { canonicalResponses } from '../../../../src/shared/chat/responses/read-request.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'

const named = (name: string) => ({ type: 'function', name })
const SEARCH = { type: 'web_search' }
const TOOLS = [SEARCH, named('f'), named('g'), { type: 'namespace', name: 'n', tools: [named('h')] }]
const among = (mode: string, ...tools: Fields[]) => ({ type: 'allowed_tools', mode, tools })

describe('a choice among the tools of a request of the Responses API', () => {
  const asked = (tool_choice: unknown, tools: Fields[] = TOOLS) =>
    checkResponses({ model: 'm', input: 'hello', tools, tool_choice }, { upstreams: [] }).request

  const CHOICES: [choice: Fields, sent: unknown, offered: string[]][] = [
    [among('auto', SEARCH, named('g')), among('auto', named('g')), ['g']],
    [among('required', named('g'), SEARCH), among('required', named('g')), ['g']],
    [among('auto', { type: 'namespace', name: 'n' }), among('auto', { type: 'namespace', name: 'n' }), ['h']],
    [among('auto', SEARCH), 'none', ['f', 'g', 'h']],
    [named('f'), named('f'), ['f', 'g', 'h']],
  ]
  for (const [choice, sent, offered] of CHOICES) {
    it(`has none of those that run at the upstream: ${JSON.stringify(choice)}`, () => {
      const request = asked(choice)
      expect(request.tool_choice).to.deep.equal(sent)
      expect(canonicalResponses(request, () => null).tools.map(({ name }) => name)).to.deep.equal(offered)
    })
  }

  const MCP = { type: 'mcp', server_label: 'x', name: 'f' }
  for (const choice of [SEARCH, MCP, { type: 'unheard_of' }, among('required', SEARCH, MCP)]) {
    it(`is refused where it requires another one, with and without it: ${JSON.stringify(choice)}`, () => {
      for (const tools of [TOOLS, TOOLS.slice(1)]) expect(() => asked(choice, tools)).to.throw(/^Invalid 'tool_choice'/)
    })
  }
})
