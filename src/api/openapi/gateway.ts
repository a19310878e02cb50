/**
 * The endpoints under `/v1`, as the document tells them.
 */
import { z } from 'zod'
import type { ErrorCode } from '../../shared/errors.ts'
import { chatBody, imageBody, videoBody } from '../v1/schemas.ts'
import { acceptedCall, chatResult, events, mediaResult, modelList } from '../answers.ts'
import { acceptedHeaders, allowanceHeaders, callHeaders } from './headers.ts'
import type { Operation } from './operation.ts'

const tag = 'Models and calls' as const

/** What every request with a key can meet. */
const KEY_ERRORS = ['account_suspended', 'rate_limited'] as const satisfies ErrorCode[]

const CALL_ERRORS = [
  'unsupported_model',
  'invalid_request',
  'idempotency_conflict',
  'result_expired',
  'insufficient_credits',
  'upstream_unavailable',
  'overloaded',
  'upstream_failed',
  ...KEY_ERRORS,
] as const satisfies ErrorCode[]

const callRequestHeaders = z.object({
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
})

const accepted = {
  description: 'The call goes on; its answer will be at `Location`.',
  schema: acceptedCall,
  headers: acceptedHeaders,
}

const MEDIA_EVENTS = events(
  'With `Accept: text/event-stream`: the events `queued`, `running`, `progress`, then `result` or `error`.',
)

const CHAT_EVENTS = events(
  'With `"stream": true`: chunks in OpenAI\'s form, the last one with `usage`, then `data: [DONE]`.',
)

function mediaOperation(path: `/${string}`, summary: string, body: z.ZodType): Operation {
  return {
    method: 'post',
    path,
    tag,
    summary,
    auth: 'key',
    headers: callRequestHeaders,
    body,
    description: "Charged the model's fixed credits at the beginning; all of them are refunded if the call fails.",
    answers: {
      200: {
        description: 'The result.',
        schema: mediaResult,
        headers: callHeaders,
        content: { 'text/event-stream': MEDIA_EVENTS },
      },
      202: accepted,
    },
    errors: ['invalid_prompt', ...CALL_ERRORS],
  }
}

export const gatewayOperations: Operation[] = [
  {
    method: 'get',
    path: '/v1/models',
    tag,
    summary: 'List the models',
    auth: 'key',
    answers: {
      200: { description: 'The models that can be called.', schema: modelList, headers: allowanceHeaders },
    },
    errors: KEY_ERRORS,
  },
  mediaOperation('/v1/images/generations', 'Make or edit an image', imageBody),
  mediaOperation('/v1/videos/generations', 'Make a video', videoBody),
  {
    method: 'post',
    path: '/v1/chat/completions',
    tag,
    summary: 'Complete a chat',
    auth: 'key',
    headers: callRequestHeaders,
    body: chatBody,
    description:
      'Charged on an estimate of its tokens at the beginning, settled on the real usage at its end. ' +
      'Other fields are refused, unless an upstream of the model allows them.',
    answers: {
      200: {
        description: 'The completion.',
        schema: chatResult,
        headers: callHeaders,
        content: { 'text/event-stream': CHAT_EVENTS },
      },
      202: accepted,
    },
    errors: ['invalid_messages', ...CALL_ERRORS],
  },
  {
    method: 'get',
    path: '/v1/calls/:id',
    tag,
    summary: 'Fetch the answer of a call',
    auth: 'key',
    description:
      'The status and body that a waiting request would have received. ' +
      'These reads have a rate limit of their own.',
    params: z.object({ id: z.string().meta({ description: '`X-Call-Id` of the call, or the `id` of its 202.' }) }),
    query: z.object({
      wait: z.int().min(0).max(60).optional().meta({ description: 'Wait so many seconds for the end of the call.' }),
    }),
    answers: {
      200: { description: 'The result.', schema: z.union([mediaResult, chatResult]), headers: callHeaders },
      202: { ...accepted, description: 'It is still running.' },
    },
    errors: ['invalid_request', 'not_found', 'result_expired', 'upstream_failed', ...KEY_ERRORS],
  },
]
