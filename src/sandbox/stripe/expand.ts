import { asFields } from '../wire.ts'
import type { Fields } from '../wire.ts'
import type { StripeAccount } from './account.ts'
import { badField } from './fields.ts'
import { page } from './lists.ts'

/**
 * A copy of an answer with the objects in the place of the ids that `expand` names, such as
 * `payment_intent.latest_charge`, or `data.customer` of a list.
 * @throws {Refusal} 400 for what cannot be expanded
 */
export function expanded(account: StripeAccount, answer: object, paths: readonly string[]): object {
  const copy = structuredClone(answer)
  for (const path of paths) expandAt(account, copy as Fields, path.split('.'), path)
  return copy
}

function expandAt(account: StripeAccount, at: Fields, [head, ...rest]: readonly string[], path: string): void {
  if (head === undefined) return
  const value = at[head] ?? included(account, at, head)
  if (value === undefined) throw badField(`This property cannot be expanded (${path}).`, 'expand')
  if (Array.isArray(value)) {
    at[head] = value.map((one: unknown) => (typeof one === 'string' ? (objectOf(account, one) ?? one) : one))
    for (const one of at[head] as unknown[]) expandAt(account, asFields(one), rest, path)
    return
  }
  at[head] = typeof value === 'string' ? (objectOf(account, value) ?? value) : value
  if (at[head] !== null) expandAt(account, asFields(at[head]), rest, path)
}

function objectOf(account: StripeAccount, id: string): unknown {
  const found = account.objects.any(id)
  return found && structuredClone(found)
}

/** Lists that an object shows only to those who ask for them. */
function included(account: StripeAccount, at: Fields, name: string): unknown {
  if (name in at) return null
  const id = String(at['id'])
  if (at['object'] === 'checkout.session' && name === 'line_items') {
    return page(structuredClone(account.lineItems.get(id) ?? []), {}, `/v1/checkout/sessions/${id}/line_items`)
  }
  if (at['object'] === 'charge' && name === 'refunds') {
    const refunds = account.objects.list('refund').filter(({ charge }) => charge === id)
    return page(structuredClone(refunds), {}, `/v1/charges/${id}/refunds`)
  }
  return undefined
}
