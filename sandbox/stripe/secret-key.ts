import type { Exchange } from '../exchange.ts'
import { authorizationKey, Refusal } from '../wire.ts'
import type { StripeAccount } from './account.ts'
import type { StripeWorld } from './world.ts'

/** The account of a request, by its secret key. @throws {Refusal} 401 for a key of no account */
export const accountOf = ({ req, state }: Exchange): StripeAccount =>
  accountOfKey(state.stripe, authorizationKey(req.headers, 'Bearer') ?? '')

/**
 * The account of a secret key: `sk_test_NAME` and `sk_live_NAME` are the two modes of the account NAME.
 * @throws {Refusal} 401 for any other key
 */
export function accountOfKey(world: StripeWorld, key: string): StripeAccount {
  const found = /^(?:sk|rk)_(test|live)_(\w+)$/.exec(key)
  if (!found) throw new Refusal({ status: 401, message: 'Invalid API Key provided.' })
  return world.account(found[2]!, found[1] === 'live')
}
