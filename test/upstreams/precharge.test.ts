import { expect } from 'chai'
import { checkChat } from '../../src/shared/chat/completions/check.ts'
import type { CountedChat } from '../../src/shared/chat/completions/estimate.ts'
import { estimateChat } from '../../src/shared/chat/completions/estimate.ts'
import { chatCost } from '../../src/shared/terms/pricing.ts'
import { billOf } from './support/bills.ts'
import { chatBodies } from './support/chat-bodies.ts'
import { holds } from './support/holds.ts'

/** Every token has a price, so that rounding hides none. */
const PRICE = { input: 1, output: 2, perTokens: 1, minimum: 0 }

holds('chat', 'covers a bill for every byte and all output, or the request is refused before a charge', {
  dialect: 'chat',
  protocols: ['openai', 'anthropic'],
  bodies: chatBodies.map(({ body }) => body),
  allowable: ['thinking', 'service_tier'],
  model: { maxOutputTokens: 4096, partTokens: { input_audio: 0, file: 0, video: 0 } },
  parse: checkChat,
  check: ({ body, sent, rules }) =>
    expect(chatCost(PRICE, estimateChat(body as CountedChat, rules))).to.be.at.least(chatCost(PRICE, billOf(sent))),
})
