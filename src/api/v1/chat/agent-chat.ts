/**
 * What the endpoints have in common that agents ask for chats: their limit of output is lowered to what can be paid.
 */
import { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import type { Tokens } from '../../../shared/terms/pricing.ts'
import { chatCharge } from '../../../shared/terms/pricing.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { LowerTo } from '../calls/call-order.ts'
import { loweringOf } from '../calls/call-order.ts'
import { apiKey } from '../../endpoint/auth.ts'
import { events } from '../../endpoint/answer-schemas.ts'
import { CALL_LIMITS, accepted, agentBody, callRequestHeaders, chatHeaders } from '../declared.ts'

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

/** What is declared of each endpoint. */
export const agentChat = {
  tag: 'Models and calls',
  method: 'post',
  auth: apiKey,
  bodyBytes: agentBody,
  limits: CALL_LIMITS,
  headers: callRequestHeaders,
} as const

/** The answers of an endpoint: what it is called, its schema, and the API whose events a stream has. */
export const agentAnswers = <S extends z.ZodType>(name: string, schema: S, api: string) => ({
  200: {
    description: `The ${name}.`,
    schema,
    headers: chatHeaders.extend({
      'X-Tollgate-Tools-Dropped': z
        .string()
        .optional()
        .meta({ description: "The upstream's own tools that were left out, by their names." }),
    }),
    content: { 'text/event-stream': events(`With \`"stream": true\`: the events of the ${api}.`) },
  },
  202: accepted,
})
