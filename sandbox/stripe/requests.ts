import { createHash } from 'node:crypto'
import { originOf } from '../exchange.ts'
import type { Exchange, Route } from '../exchange.ts'
import { nestedFields } from '../http/nested-form.ts'
import { cut } from '../http/outlet.ts'
import { Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { API_VERSION, newId } from './account.ts'
import type { KeptAnswer, StripeAccount } from './account.ts'
import { expanded } from './expand.ts'
import type { RequestFault } from './faults.ts'
import { asList, onlyKnown } from './fields.ts'
import { PAGING } from './lists.ts'
import { stripeError } from './errors.ts'
import { accountOf } from './secret-key.ts'

/** One request to the API, as the verbs see it. */
export interface Call {
  readonly account: StripeAccount
  /** The `:id` of the path. */
  readonly id: string
  readonly fields: Fields
  readonly path: string
  /** Where pages and receipts of the sandbox are. */
  readonly origin: string
}

/** An endpoint of the API: the fields that it takes, and what it does; never asynchronous, so never half done. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly takes: readonly string[]
  readonly run: (call: Call) => object
}

/** A list endpoint, which takes the fields of pages too. */
export function listing(path: string, takes: readonly string[], run: Endpoint['run']): Endpoint {
  return { method: 'GET', path, takes: [...PAGING, ...takes], run }
}

/** The route of an endpoint: faults that were ordered, idempotency keys, checks, `expand`, Stripe's headers. */
export function route(endpoint: Endpoint): Route {
  return { method: endpoint.method, path: endpoint.path, handle: (exchange) => answerCall(exchange, endpoint) }
}

function answerCall(exchange: Exchange, endpoint: Endpoint): void {
  const account = accountOf(exchange)
  const fault = account.faults.ofRequest(endpoint.method, exchange.path)
  if (fault && !fault.includes('-')) return misbehave(exchange, fault)
  const answer = answerOnce(exchange, account, endpoint, fault)
  if (fault === 'hang-after') return
  if (fault === 'reset-after') return cut(exchange)
  if (fault === '500-after') return misbehave(exchange, '500')
  send(exchange, answer)
}

function misbehave(exchange: Exchange, fault: RequestFault): void {
  if (fault === 'hang') return
  if (fault === 'reset') return cut(exchange)
  const failure = new Refusal({ status: Number(fault), message: `The sandbox was asked to answer ${fault}.` })
  send(exchange, { ...failed(failure), requestId: newId('req') })
}

type Answer = Pick<KeptAnswer, 'requestId' | 'status' | 'text'> & { readonly replayed?: boolean }

function answerOnce(
  exchange: Exchange,
  account: StripeAccount,
  endpoint: Endpoint,
  fault: RequestFault | undefined,
): Answer {
  const fields = endpoint.method === 'GET' ? nestedFields(exchange.query) : exchange.body.fields
  const key = endpoint.method === 'POST' ? exchange.req.headers['idempotency-key'] : undefined
  const fingerprint = typeof key === 'string' ? fingerprintOf(exchange, fields) : ''
  const before = typeof key === 'string' ? account.answers.get(key) : undefined
  if (before) {
    if (before.fingerprint !== fingerprint) throw usedKey(String(key))
    return { ...before, replayed: true }
  }
  const requestId = newId('req')
  const outcome = carryOut(exchange, account, endpoint, fields)
  if (endpoint.method !== 'GET') exchange.state.stripe.changed()
  if (fault === '500-kept')
    Object.assign(outcome, failed(new Refusal({ status: 500, message: 'Kept by the sandbox.' })))
  // A request that was refused for its fields was never carried out: its key is still free.
  const carriedOut = outcome.status < 400 || outcome.status === 402 || outcome.status >= 500
  if (typeof key === 'string' && carriedOut) account.answers.set(key, { fingerprint, requestId, ...outcome })
  return { requestId, ...outcome }
}

function carryOut(
  exchange: Exchange,
  account: StripeAccount,
  { takes, run }: Endpoint,
  fields: Fields,
): { status: number; text: string } {
  try {
    onlyKnown(fields, takes)
    const call = { account, id: exchange.params['id'] ?? '', fields, path: exchange.path, origin: originOf(exchange) }
    const paths = asList(fields['expand']).map(String)
    return { status: 200, text: JSON.stringify(expanded(account, run(call), paths), null, 2) }
  } catch (failure) {
    if (!(failure instanceof Refusal)) throw failure
    return failed(failure)
  }
}

function failed({ fault }: Refusal): { status: number; text: string } {
  return { status: fault.status, text: JSON.stringify(stripeError(fault).body, null, 2) }
}

function usedKey(key: string): Refusal {
  const message =
    `Keys for idempotent requests can only be used with the same parameters they were first used with. ` +
    `Try using a key other than '${key}' if you meant to execute a different request.`
  return new Refusal({ status: 400, message, details: { type: 'idempotency_error' } })
}

function fingerprintOf({ req, path }: Exchange, fields: Fields): string {
  return createHash('sha256')
    .update(JSON.stringify([req.method, path, fields]))
    .digest('base64')
}

function send(exchange: Exchange, { status, text, requestId, replayed }: Answer): void {
  const { req, res } = exchange
  if (res.destroyed) return
  const key = req.headers['idempotency-key']
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'request-id': requestId,
    'stripe-version': API_VERSION,
    ...(key !== undefined && { 'idempotency-key': key, 'original-request': requestId }),
    ...(replayed && { 'idempotent-replayed': 'true' }),
    // A 500 is stored under its key: sending it again brings the same.
    ...(status === 500 && { 'stripe-should-retry': 'false' }),
  })
  res.end(text)
}
