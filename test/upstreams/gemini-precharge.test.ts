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
