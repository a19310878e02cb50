/**
 * In which form a request gets its answers.
 */
import type { ParameterizedContext } from 'koa'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { anthropicStatusOf, responsesStatusOf, statusOf } from '../../shared/platform/errors.ts'
import type { Envelope, RequestState, Served } from './request-context.ts'

/** The form of errors of a request: its endpoint's, or Anthropic's where the client asks for it and can have it. */
export function envelopeFor(ctx: Pick<ParameterizedContext<RequestState>, 'state' | 'get'>): Envelope {
  const { endpoint, envelope = 'console' } = ctx.state
  if (!endpoint) return envelope
  if (endpoint.envelope === 'anthropic') return 'anthropic'
  if (endpoint.anthropic && ctx.get('anthropic-version') !== '') return 'anthropic'
  return endpoint.envelope ?? 'console'
}

/** Says which endpoint serves a request, and gives its answer the id where Anthropic's clients look for it. */
export function beginAt(ctx: ParameterizedContext<RequestState>, endpoint: Served): void {
  ctx.state.endpoint = endpoint
  if (envelopeFor(ctx) === 'anthropic') ctx.set('Request-Id', ctx.state.requestId)
}

/** The HTTP status of a code in this form. */
export const statusIn = (envelope: Envelope, code: ErrorCode): number => (STATUSES[envelope] ?? statusOf)(code)

const STATUSES: Partial<Record<Envelope, (code: ErrorCode) => number>> = {
  anthropic: anthropicStatusOf,
  responses: responsesStatusOf,
}
