/**
 * In which form a request gets its answers.
 */
import type { ParameterizedContext } from 'koa'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { statusOf } from '../../shared/platform/errors.ts'
import type { ErrorForm } from '../../shared/chat/definition.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import type { Envelope, RequestState, Served } from './request-context.ts'

/** The form of errors of a request: its endpoint's, or Anthropic's where the client asks for it and can have it. */
export function envelopeFor(ctx: Pick<ParameterizedContext<RequestState>, 'state' | 'get'>): Envelope {
  const { endpoint, envelope = 'console' } = ctx.state
  if (!endpoint) return envelope
  if (endpoint.envelope === 'messages') return 'messages'
  if (endpoint.anthropic && ctx.get('anthropic-version') !== '') return 'messages'
  return endpoint.envelope ?? 'console'
}

/** Records which endpoint serves a request, and sets the id of its answer in the header that its clients read. */
export function beginAt(ctx: ParameterizedContext<RequestState>, endpoint: Served): void {
  ctx.state.endpoint = endpoint
  const header = errorsOf(envelopeFor(ctx))?.requestIdHeader
  if (header) ctx.set(header, ctx.state.requestId)
}

/** The errors of a dialect that has a form of its own; null of the gateway's and the console's forms. */
export const errorsOf = (envelope: Envelope): ErrorForm | null =>
  envelope === 'gateway' || envelope === 'console' ? null : dialectOf(envelope).errors

/** The HTTP status of a code in this form. */
export const statusIn = (envelope: Envelope, code: ErrorCode): number =>
  (errorsOf(envelope)?.statusOf ?? statusOf)(code)
