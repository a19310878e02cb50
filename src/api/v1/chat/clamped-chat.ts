/**
 * What a chat costs whose limit of output is lowered to what can be paid.
 */
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import type { Tokens } from '../../../shared/terms/pricing.ts'
import { chatCharge } from '../../../shared/terms/pricing.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { LowerTo } from '../calls/call-order.ts'
import { loweringOf } from '../calls/call-order.ts'

/** How long an answer to an agent may take where its model does not say, in seconds: agents ask for long ones. */
const DEADLINE_SECONDS = 900

/** A chat of one choice, what it is charged, and what it would be with a lower limit. */
export type ClampedChat = {
  request: ChatRequest
  estimate: Tokens
  charge: number
  lowerTo: LowerTo
  deadlineSeconds: number
}

/** What a chat is to cost. Its limit of output is lowered to what can be paid. */
export function clampedChat(request: ChatRequest, estimate: Tokens, { price }: ChatModel): ClampedChat {
  const lowerTo = loweringOf(price, { limit: request.max_tokens, choices: 1, estimate })
  return { request, estimate, charge: chatCharge(price, estimate), lowerTo, deadlineSeconds: DEADLINE_SECONDS }
}
