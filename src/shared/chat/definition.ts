/** What a dialect consists of: how it reads and counts its requests, and how it writes its answers and errors. */
import type { z } from 'zod'
import type { ApiError, ErrorCode, GatewayError } from '../platform/errors.ts'
import type { Fields } from '../platform/fields.ts'
import type { CountingRules } from '../terms/pricing.ts'
import type { ChatRequest } from '../requests/requests.ts'
import type { AnswerForm } from './answer-form.ts'
import type { CanonicalChat } from './canonical.ts'
import type { AnswerEncoder } from './events.ts'
import type { Address } from './parts.ts'
import type { Open, Seal } from './seal.ts'

/**
 * The answer that is made. `inputTokens`: the input that a stream names at its beginning, where its dialect does that.
 * `callId`: the public id of its call. `seal`: seals for the route that makes it.
 */
export type Answered = { request: ChatRequest; inputTokens: number; callId: string; seal: Seal['seal'] }

/** An error as its client gets it. `resetsAt`: of a budget. `retryAfterSeconds`: of what may pass. */
export type ShownError = {
  code: ErrorCode
  message: string
  param: string | null
  resetsAt?: string | null | undefined
  retryAfterSeconds?: number | null | undefined
}

/** The errors of a dialect. */
export type ErrorForm = {
  /** The HTTP status of a code. */
  statusOf: (code: ErrorCode) => number
  /** The body of an error. */
  body: (error: ShownError, requestId: string) => object
  /** The body of the error that a call has ended with. @param callId the public one */
  stored: (error: GatewayError, callId: string) => object
  /** The schema of a body with one of these codes. */
  schema: (codes: readonly ErrorCode[], members: ErrorMembers) => z.ZodType
  /** The header in which its clients expect the id of a request, besides `X-Request-Id`. */
  requestIdHeader?: string
}

/** The schemas of what errors have in all forms. `more`: further members. */
export type ErrorMembers = { message: z.ZodType; param: z.ZodType; more: Readonly<Record<string, z.ZodType>> }

/** A dialect that chats are asked in. */
export type DialectDefinition = {
  /** @param open opens what was sealed for the route that is asked */
  canonical: (request: ChatRequest, open: Open) => CanonicalChat
  /** The names in an upstream's `allow` that a request needs there. */
  needsAllow: (request: ChatRequest) => string[]
  /** The refusal of what is at a path. @param fault the end of a sentence */
  refusal: (path: string, fault: string) => ApiError
  encoder: (answered: Answered) => AnswerEncoder
  answers: AnswerForm
  /** Null where both errors and answers are in the gateway's own form, with `ok`. */
  errors: ErrorForm | null
  /** What it calls the limit of its output. */
  limitField: 'max_tokens' | 'max_output_tokens'
  /** Whether the fields of a request ask for reasoning. */
  asksForReasoning: (fields: Fields) => boolean
  /** The most bytes of JSON that the answer to a request may take. */
  mostBytes: (request: ChatRequest) => number
  /**
   * Whether clients get an upstream's failure as its vendor reports it, with its status. Else every failure is 502
   * (specification: gateway errors).
   */
  reportsFailures: boolean
  /** The input tokens of a request that do not count by its bytes. */
  fixedTokens: (request: ChatRequest, rules: CountingRules) => number
  /** The http(s) addresses in a request. */
  addresses: (request: ChatRequest) => Address[]
  /** The request with the addresses of its pictures as `change` returns them: others, or `data:` URIs. */
  withPictures: (request: ChatRequest, change: (url: unknown) => unknown) => ChatRequest
}
