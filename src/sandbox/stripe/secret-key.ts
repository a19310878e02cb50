import type { Exchange } from '../exchange.ts'
import { authorizationKey, Refusal } from '../wire.ts'
import type { StripeAccount } from './account.ts'

/**
 * The account of a request, by its secret key: `sk_test_NAME` and `sk_live_NAME` are the two modes of the account NAME.
 * @throws {Refusal} 401 for any other key
 */
export function accountOf(exchange: Exchange): StripeAccount {
  const key = authorizationKey(exchange.req.headers, 'Bearer') ?? ''
  const found = /^(?:sk|rk)_(test|live)_(\w+)$/.exec(key)
  if (!found) throw new Refusal({ status: 401, message: 'Invalid API Key provided.' })
  return exchange.state.stripe.account(found[2]!, found[1] === 'live')
}
