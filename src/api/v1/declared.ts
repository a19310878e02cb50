/**
 * What the endpoints of the gateway have in common: their answers, their headers, their errors.
 */
import { z } from 'zod'
import type { Config } from '../../shared/platform/config/config.ts'
import { MAX_RECEIVER_LENGTH } from '../../shared/webhooks/addresses.ts'
import { SESSION_USES } from '../../shared/calls/tries.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { apiKey } from '../endpoint/auth.ts'
import { events, id, ok } from '../endpoint/answer-schemas.ts'
import { LARGE_BYTES } from '../endpoint/large-body-queue.ts'

/** Of every endpoint under `/v1`. */
export const gateway = { tag: 'Models and calls', envelope: 'gateway' } as const

/** The longest body of the endpoints that agents send whole sessions to, and of embeddings. */
export const agentBody = ({ MAX_DIALECT_BODY_BYTES }: Pick<Config, 'MAX_DIALECT_BODY_BYTES'>): number =>
  MAX_DIALECT_BODY_BYTES

/** What counts as a call. */
export const CALL_LIMITS = [
  { limit: 'keyCalls', per: 'key', shown: true },
  { limit: 'calls', per: 'holder', shown: true },
] as const

/** What is only read: of calls, responses and models. It counts by the bytes of its body, and of its answer. */
export const READ_LIMITS = [{ limit: 'reads', per: 'account', perBytes: LARGE_BYTES, shown: true }] as const

/** The same for videos, whose bytes pass as they are stored: each read counts once. */
export const VIDEO_READ_LIMITS = [{ limit: 'reads', per: 'account', shown: true }] as const

/** The codes of every endpoint that places calls, besides those of its own fields. */
export const CALL_ERRORS = [
  'unsupported_model',
  'model_not_allowed',
  'invalid_request',
  'idempotency_conflict',
  'context_length_exceeded',
  'content_policy',
  'result_expired',
  'price_above_limit',
  'price_changed',
  'key_budget_exceeded',
  'member_budget_exceeded',
  'insufficient_credits',
  'credits_in_use',
  'upstream_unavailable',
  'overloaded',
  'upstream_failed',
] as const satisfies ErrorCode[]

/** How the upstream of a call failed, in dialects that report it as its vendor does. */
export const QUOTED_ERRORS = [
  'upstream_refused',
  'upstream_rate_limited',
  'upstream_overloaded',
] as const satisfies ErrorCode[]

const allowance = {
  'X-RateLimit-Limit-Requests': z.string().meta({ description: 'Requests in a window of 60 s.' }),
  'X-RateLimit-Remaining-Requests': z.string().meta({ description: 'Requests left in this window.' }),
  'X-RateLimit-Reset-Requests': z.string().meta({ description: 'How long until this window ends, such as `12s`.' }),
  'X-RateLimit-Limit-Tokens': z
    .string()
    .optional()
    .meta({ description: 'Tokens in a window of 60 s, where the account or the key has such a limit.' }),
  'X-RateLimit-Remaining-Tokens': z.string().optional().meta({ description: 'Tokens left in this window.' }),
  'X-RateLimit-Reset-Tokens': z
    .string()
    .optional()
    .meta({ description: 'How long until this window ends, such as `6s`; `0s` where none has begun.' }),
}

/** On what counts against the gateway's rate limit. */
export const allowanceHeaders = z.object(allowance)

/** On the answers of calls. */
export const callHeaders = z.object({
  ...allowance,
  'X-Call-Id': z.string().meta({ description: 'The call: see `GET /v1/calls/{id}` and `GET /api/calls/{id}`.' }),
  'Idempotent-Replayed': z.string().optional().meta({ description: '`true`: this request joined an earlier one.' }),
})

const credits = z.string().regex(/^\d+$/).optional()

/** On the answers that have no room for credits and balance. */
export const paidHeaders = callHeaders.extend({
  'X-Credits': credits.meta({ description: 'Credits charged, where the body does not say it.' }),
  'X-Balance': credits.meta({ description: 'Credits left, where the body does not say it.' }),
})

/** On the answers of chats. */
export const chatHeaders = callHeaders.extend({
  'X-Tollgate-Session': z.enum(SESSION_USES).optional().meta({
    description: 'Of a chat with a session: `hit`, what served it before; `new`; `moved`, another upstream or key.',
  }),
  'X-Max-Output-Tokens': z.string().optional().meta({ description: 'The limit of output that the upstream was sent.' }),
})

/** What calls cost whose answers have no place for it. */
export const creditHeaders = callHeaders.extend({
  'X-Credits': z.string().meta({ description: 'What the call costs, in credits: held until it has ended.' }),
  'X-Balance': z.string().meta({ description: 'Credits left: after the call, or now while it runs.' }),
})

/** What a call may be sent with. */
export const callRequestHeaders = z.object({
  'Idempotency-Key': z.string().min(1).max(255).optional().meta({
    description: 'The same key with the same body joins the first call, or gets its answer again; it is charged once.',
  }),
  Prefer: z
    .string()
    .optional()
    .meta({
      description: '`respond-async` is answered 202 at once, `wait=N` after N seconds (RFC 7240).',
      examples: ['wait=10'],
    }),
  'X-Max-Credits': z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .meta({ description: 'The most that the call may be charged; 422 `price_above_limit` beyond.' }),
  'X-Callback-Url': z.string().max(MAX_RECEIVER_LENGTH).optional().meta({
    description: 'Where the end of this call is told: an https address, as that of a webhook.',
  }),
  'X-New-Call': z.string().optional().meta({
    description: '`true`: this is no retry of an equal call that was left unanswered, but another call.',
  }),
  'X-Price-Version': z.string().optional().meta({
    description: 'A `priceVersion` of `GET /v1/models` or of a quote; 422 `price_changed` if it is no longer current.',
  }),
})

/** Of every endpoint that places calls, where it declares nothing else. */
export const placesCalls = {
  ...gateway,
  method: 'post',
  auth: apiKey,
  limits: CALL_LIMITS,
  headers: callRequestHeaders,
  errors: CALL_ERRORS,
} as const

/** 202. */
export const accepted = {
  description: 'The call continues; fetch its answer at `Location`.',
  schema: z.strictObject({ ok, id: id('call'), status: z.enum(['queued', 'running']) }).meta({ id: 'AcceptedCall' }),
  headers: callHeaders.extend({
    Location: z.string().meta({ description: 'Where to fetch the answer.' }),
    'Preference-Applied': z.string().optional().meta({ description: 'The preference that was honoured (RFC 7240).' }),
  }),
}

/** What a call that is not paid by its tokens has cost. */
export const callUsage = z.strictObject({
  credits: z.int().meta({ description: 'Credits charged.' }),
  balance: z.int().meta({ description: 'Credits left.' }),
  latencyMs: z.int().meta({ description: 'Milliseconds from accepting the request to the end of the call.' }),
})

const created = z.int().meta({ description: 'Unix seconds.' })
const addressed = z.strictObject({ url: z.url() })

/** An image or a video. */
export const mediaResult = z
  .strictObject({ ok, created, data: z.array(addressed).min(1), usage: callUsage })
  .meta({ id: 'MediaResult' })

const picture = z.strictObject({ b64_json: z.base64().meta({ description: 'The bytes of the picture.' }) })

/** Images: with their addresses, or with their bytes where `response_format` asks for these. */
export const imagesResult = z
  .strictObject({ ok, created, data: z.union([z.array(addressed).min(1), z.array(picture).min(1)]), usage: callUsage })
  .meta({ id: 'ImagesResult', description: 'The pictures in the order of the upstream.' })

const choice = z.looseObject({
  index: z.int(),
  message: z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(z.looseObject({}))]).nullish() }),
  finish_reason: z.string().nullable(),
})

/** A chat's answer. What an upstream adds to it is passed on. */
export const chatResult = z
  .looseObject({
    ok,
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(choice),
    usage: z.looseObject({
      input_tokens: z.int(),
      output_tokens: z.int(),
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      credits: z.int().meta({ description: 'Credits finally charged.' }),
      balance: z.int().meta({ description: 'Credits left.' }),
    }),
  })
  .meta({ id: 'ChatResult', description: "Other fields of the upstream's answer are passed on." })

/** The events of an image or a video call, for the documentation. */
export const MEDIA_EVENTS = events(
  'With `Accept: text/event-stream`: the events `queued`, `running`, `progress`, then `result` or `error`.',
)

/** The events of a streamed chat, for the documentation. */
export const CHAT_EVENTS = events(
  'With `"stream": true`: chunks in OpenAI\'s form, the last one with `usage`, then `data: [DONE]`.',
)
