import { Refusal } from '../wire.ts'
import type { Fault, Fields } from '../wire.ts'
import type { Kinds } from './objects.ts'
import type { StripeAccount } from './account.ts'

/** An error in Stripe's envelope. */
export function stripeError({ status, message, code, param, details }: Fault): { body: { error: Fields } } {
  const type = status >= 500 ? 'api_error' : status === 402 ? 'card_error' : 'invalid_request_error'
  const usual = status === 429 ? 'rate_limit' : undefined
  return { body: { error: { type, message, code: code ?? usual, param, ...details } } }
}

/**
 * The object of this kind that a request names; with `param`, in one of its fields.
 * @throws {Refusal} 404, or 400 for a field: `resource_missing`
 */
export function need<K extends keyof Kinds>(account: StripeAccount, kind: K, id: string, param?: string): Kinds[K] {
  const found = account.objects.find(kind, id)
  if (found) return found
  throw new Refusal({
    status: param ? 400 : 404,
    message: `No such ${kind.replace('_', '')}: '${id}'`,
    code: 'resource_missing',
    param: param ?? 'id',
  })
}
