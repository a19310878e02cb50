import { asFields } from '../wire.ts'
import type { Fields } from '../wire.ts'
import type { StripeAccount } from './account.ts'
import { badField } from './fields.ts'
import { page } from './lists.ts'

/**
 * An answer with the objects in the place of the ids that `expand` names, such as `payment_intent.latest_charge`, or
 * `data.customer` of a list. It shares with the account what it does not change: write it out, do not store it.
 * @throws {Refusal} 400 for what cannot be expanded
 */
export function expanded(account: StripeAccount, answer: object, paths: readonly string[]): object {
  return paths.reduce((whole, path) => expandedAt(account, whole, path.split('.'), path), answer as Fields)
}

/** A copy of an object with what is expanded in it. */
function expandedAt(account: StripeAccount, at: Fields, [head, ...rest]: readonly string[], path: string): Fields {
  if (head === undefined) return at
  const value = at[head] ?? included(account, at, head)
  if (value === undefined) throw badField(`This property cannot be expanded (${path}).`, 'expand')
  const inside = (one: unknown): unknown => {
    const found = typeof one === 'string' ? (account.objects.any(one) ?? one) : one
    return found === null || rest.length === 0 ? found : expandedAt(account, asFields(found), rest, path)
  }
  return { ...at, [head]: Array.isArray(value) ? value.map(inside) : inside(value) }
}

/** Lists that an object has only if they are expanded. */
function included(account: StripeAccount, at: Fields, name: string): unknown {
  if (name in at) return null
  const id = String(at['id'])
  if (at['object'] === 'checkout.session' && name === 'line_items') {
    return page(account.lineItems.get(id) ?? [], {}, `/v1/checkout/sessions/${id}/line_items`)
  }
  if (at['object'] === 'charge' && name === 'refunds') {
    const refunds = account.objects.list('refund').filter(({ charge }) => charge === id)
    return page(refunds, {}, `/v1/charges/${id}/refunds`)
  }
  return undefined
}
