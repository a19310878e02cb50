import { expect } from 'chai'
import { checkResponses } from '../../src/shared/chat/responses/check.ts'
import { estimateResponses } from '../../src/shared/chat/responses/estimate.ts'
import { FIELDS } from '../../src/shared/chat/responses/fields.ts'
import type { Sent } from './support/holds.ts'
import { holds, lowered } from './support/holds.ts'
import { responseBodies } from './support/response-bodies.ts'
import { hostedToolsIn, inputTokensOf, modesIn, responseInputTokensOf } from './support/bills.ts'

function check({ protocol, request, sent, allow, rules }: Sent): void {
  const limits = [sent.max_tokens, sent.max_completion_tokens, sent.max_output_tokens]
  const stated = limits.filter((limit) => limit !== undefined)
  expect(stated, 'the limits of the output').to.deep.equal([request.max_tokens])
  expect(sent, 'other limits').to.not.have.any.keys('n', 'models', 'previous_response_id', 'background')
  for (const name of Object.keys(FIELDS.dearer)) {
    if (sent[name] === undefined || allow.includes(name)) continue
    const free = [...(FIELDS.freeValues[name] ?? []), 'standard_only']
    expect(free, `${name}, which this upstream may not be sent`).to.include(sent[name])
  }
  expect(hostedToolsIn(sent), 'tools that the upstream runs').to.deep.equal([])
  if (!allow.includes('reasoning.mode')) expect(modesIn(sent), 'modes and tiers').to.deep.equal([])
  if (protocol === 'responses') expect(sent.store, 'what the upstream keeps').to.equal(false)
  const isPriced = 'partTokens' in rules
  const billed = protocol === 'responses' ? responseInputTokensOf(sent, isPriced) : inputTokensOf(sent, isPriced)
  expect(estimateResponses(request, rules).input, 'the input that is held').to.be.at.least(billed)
}

holds('response', 'is not passed by any field, item, part or tool of its body', {
  dialect: 'responses',
  protocols: ['openai', 'anthropic', 'responses'],
  bodies: responseBodies,
  allowable: [...Object.keys(FIELDS.dearer), 'reasoning.mode'],
  parse: (body, model) => checkResponses(body, model).request,
  limited: lowered,
  check,
})
