import { expect } from 'chai'
import { checkGemini } from '../../src/shared/chat/gemini/check.ts'
import { estimateGemini } from '../../src/shared/chat/gemini/estimate.ts'
import { FIELDS } from '../../src/shared/chat/gemini/fields.ts'
import { hostedIn, inputTokensOf } from './support/bills.ts'
import { geminiBodies } from './support/gemini-bodies.ts'
import type { Sent } from './support/holds.ts'
import { holds, lowered } from './support/holds.ts'

function check({ request, sent, allow, rules }: Sent): void {
  expect(sent.max_tokens, 'the limit of the output').to.equal(request.max_tokens)
  const dearer = Object.keys(FIELDS.dearer).filter((name) => !allow.includes(name))
  expect(sent, 'other limits').to.not.have.any.keys('n', 'models', ...dearer)
  expect(hostedIn(sent), 'tools that the upstream runs').to.deep.equal([])
  expect(JSON.stringify(sent.tools ?? []), 'tools that the upstream runs').to.not.match(/googleSearch|codeExecution/)
  const held = estimateGemini(request, rules).input
  expect(held, 'the input that is held').to.be.at.least(inputTokensOf(sent, 'partTokens' in rules))
}

holds('content', 'is not passed by any field, part or tool of its body', {
  dialect: 'gemini',
  protocols: ['openai', 'anthropic'],
  bodies: geminiBodies,
  allowable: Object.keys(FIELDS.dearer),
  parse: (body, model) => checkGemini(body, model).request,
  limited: lowered,
  check,
})

describe('the hold of a text file in contents', () => {
  it('is that of its words where they are longer than its data: a control character is six bytes', () => {
    const heldOf = (character: string): number => {
      const data = Buffer.from(character.repeat(600)).toString('base64')
      const body = { model: 'm', contents: [{ parts: [{ inlineData: { mimeType: 'text/plain', data } }] }] }
      const rules = { maxOutputTokens: 100, upstreams: [] }
      return estimateGemini(checkGemini(body, rules).request, rules).input
    }
    expect(heldOf('\u0001')).to.be.above(heldOf('a'))
  })
})
