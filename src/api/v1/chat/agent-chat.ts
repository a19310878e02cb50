/**
 * What the endpoints have in common that agents ask for chats: their limit of output is lowered to what can be paid.
 */
import { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import type { Tokens } from '../../../shared/terms/pricing.ts'
import { chatCharge } from '../../../shared/terms/pricing.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { loweringOf } from '../calls/call-order.ts'
import type { Parsed } from '../calls/serve-call.ts'
import { events } from '../../endpoint/answer-schemas.ts'
import { CALL_ERRORS, QUOTED_ERRORS, accepted, agentBody, chatHeaders, placesCalls } from '../declared.ts'

/** How long an answer to an agent may take where its model states nothing, in seconds: agents ask for long ones. */
const DEADLINE_SECONDS = 900

/** A chat, and what it is charged. */
export type AskedChat = Parsed & { request: ChatRequest }

/** What a chat of one choice is to cost. Its limit of output is lowered to what can be paid. */
export function clampedChat(request: ChatRequest, estimate: Tokens, { price }: ChatModel): AskedChat {
  const lowerTo = loweringOf(price, { limit: request.max_tokens, choices: 1, estimate })
  return { request, estimate, charge: chatCharge(price, estimate), lowerTo, deadlineSeconds: DEADLINE_SECONDS }
}

/** What is declared of each endpoint. */
export const agentChat = {
  ...placesCalls,
  bodyBytes: agentBody,
  errors: [...CALL_ERRORS, ...QUOTED_ERRORS],
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

/** What the usage of an answer has besides that of its vendor's API. */
export const settled = {
  credits: z.int().meta({ description: 'Credits finally charged.' }),
  balance: z.int().meta({ description: 'Credits left.' }),
}
