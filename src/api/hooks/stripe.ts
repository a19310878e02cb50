/**
 * POST /hooks/stripe: events of Stripe. An event is verified over its raw bytes, stored, and answered; a worker checks
 * the order that it is about. Nothing is decided here.
 */
import { z } from 'zod'
import { networkOf } from '../../shared/platform/net/networks.ts'
import { storeEvent } from '../../shared/payments/events.ts'
import { sells } from '../billing/answers.ts'
import { done } from '../endpoint/answer-schemas.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { readBytes } from '../middleware/json-body.ts'
import { clientAddress } from '../middleware/client-address.ts'

type Deps = Pick<WebDeps, 'config' | 'db' | 'bodyMemory' | 'log' | 'payments' | 'queues'>

/** Receives an event. 200 once it is stored, whether or not it matters, and however often it arrives. */
export const receiveStripeEvent = endpoint({
  method: 'post',
  path: '/hooks/stripe',
  tag: 'Service',
  summary: 'Receive an event of Stripe',
  description: 'The raw body, signed in `Stripe-Signature`. It only prompts Tollgate to read the payment from Stripe.',
  offered: sells,
  auth: null,
  limits: [{ limit: 'webhooks', per: 'client' }],
  bodyBytes: () => 262_144,
  headers: z.object({ 'Stripe-Signature': z.string() }),
  answers: { 200: { description: 'The event is stored.', schema: done } },
  errors: ['invalid_signature', 'payload_too_large', 'overloaded', 'internal_error', 'service_unavailable'],
}).write(({ config, db, bodyMemory, log, payments, queues }: Deps) => async (_input, ctx) => {
  const sender = networkOf(clientAddress(ctx.req, config.TRUST_PROXY))
  // A signature is over the bytes that came, and over nothing that was parsed and written again.
  const body = await readBytes(ctx, bodyMemory, sender)
  if (body === null) throw new ApiError('invalid_signature')
  const { provider, observer } = payments!
  const hint = provider.verify(body, ctx.get('stripe-signature'))
  const isNew = await storeEvent(db, provider.name, hint)
  observer.eventHandled(isNew ? 'stored' : 'passed')
  // Redis may be unreachable: the event's row is marked as due.
  if (isNew)
    queues
      .enqueuePayments([{ kind: 'event', id: hint.id, traceparent: ctx.state.traceparent }])
      .catch((error: unknown) => log.warn({ err: error }, 'event not enqueued'))
  ctx.body = { ok: true }
})
