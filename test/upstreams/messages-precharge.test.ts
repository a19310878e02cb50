import { expect } from 'chai'
import { checkMessages } from '../../src/shared/chat/messages/check.ts'
import { estimateMessages } from '../../src/shared/chat/messages/estimate.ts'
import { FIELDS } from '../../src/shared/chat/messages/fields.ts'
import type { Sent } from './support/holds.ts'
import { holds, lowered } from './support/holds.ts'
import { messageBodies } from './support/message-bodies.ts'
import { hostedIn, inputTokensOf, longCachesIn } from './support/bills.ts'

function check({ protocol, request, sent, allow, rules }: Sent): void {
  expect(sent.max_tokens, 'the limit of the output').to.equal(request.max_tokens)
  expect(sent, 'other limits').to.not.have.any.keys('n', 'max_completion_tokens', 'max_output_tokens', 'models')
  const { budget_tokens: budget = 0 } = (sent.thinking ?? {}) as { budget_tokens?: number }
  expect(budget, 'the budget of thinking').to.be.below(request.max_tokens)
  for (const name of Object.keys(FIELDS.dearer)) {
    if (sent[name] === undefined || allow.includes(name)) continue
    expect(FIELDS.freeValues[name], `${name}, which this upstream may not be sent`).to.include(sent[name])
  }
  if (protocol === 'anthropic') expect(sent.service_tier, 'the tier').to.be.a('string')
  expect(hostedIn(sent), 'tools that the upstream runs').to.deep.equal([])
  if (!allow.includes('cache_control.ttl')) expect(longCachesIn(sent), 'caches for an hour').to.equal(0)
  const held = estimateMessages(request, rules).input
  expect(held, 'the input that is held').to.be.at.least(inputTokensOf(sent, 'partTokens' in rules))
}

holds('message', 'is not passed by any field, block or tool of its body', {
  dialect: 'messages',
  protocols: ['openai', 'anthropic'],
  bodies: messageBodies,
  allowable: [...Object.keys(FIELDS.dearer), 'cache_control.ttl', 'thinking'],
  parse: (body, model) => checkMessages(body, model).request,
  limited: lowered,
  check,
})
