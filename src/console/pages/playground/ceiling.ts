/**
 * What a playground request will cost at most, until the gateway has sent its quote.
 */
import { chatCharge, outputLimit } from '../../../shared/terms/pricing.ts'
import { priceOfShown } from '../../../shared/terms/shown-price.ts'
import type { ModelEntry } from '../../api/endpoints.ts'
import type { ChatMessage } from '../../api/call-forms.ts'

/**
 * Credits that a call can cost at most. Chats by what would be sent, as the gateway counts it: bytes / 3, and all the
 * output that the model may make.
 */
export function ceilingOf(model: ModelEntry, messages: ChatMessage[] = [], maxTokens?: number): number {
  if (!model.pricing || !('perTokens' in model.pricing)) return model.credits
  const bytes = new TextEncoder().encode(JSON.stringify(messages)).length
  return chatCharge(priceOfShown({ output: 0, ...model.pricing }), {
    input: Math.ceil(bytes / 3),
    output: outputLimit(maxTokens, model),
  })
}
