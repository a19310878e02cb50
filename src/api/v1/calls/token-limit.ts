/**
 * Calls that reserve more tokens than their account or their key may use in a minute: lowered to that where the limit
 * of their output may be lowered, else refused. What other calls have left of the minute lowers no call: its client
 * waits for the next one instead.
 */
import type { TokenAllowance } from '../../../shared/identity/token-allowance.ts'
import { mostTokens } from '../../../shared/identity/token-allowance.ts'
import { dialectOf } from '../../../shared/chat/dialect.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { reservedTokens } from '../../../shared/terms/pricing.ts'
import type { CallOrder } from './call-order.ts'
import { lowered } from './call-order.ts'

type Sized = Pick<CallOrder, 'estimate' | 'request' | 'dialect'>

/** Whether a call reserves more than a minute has, so that it can never be opened. */
export const isAboveLimit = (order: Sized, allowances: readonly TokenAllowance[]): boolean =>
  reservedTokens(order.estimate) > mostTokens(allowances)

/** The order, lowered to the tokens of a minute where that can be done. @param least output tokens of a lowered one */
export function withinLimit<O extends CallOrder>(order: O, allowances: readonly TokenAllowance[], least: number): O {
  if (!isAboveLimit(order, allowances)) return order
  const less = order.lowerTo?.({ credits: Infinity, share: Infinity, tokens: mostTokens(allowances) }, least)
  return less ? lowered(order, less) : order
}

/** The refusal of a call that reserves more than a minute has. */
export function aboveLimitError(order: Sized, allowances: readonly TokenAllowance[]): ApiError {
  const isChat = 'max_tokens' in order.request
  const field = dialectOf(order.dialect).limitField
  const most = `more than the limit of ${mostTokens(allowances)} a minute.`
  const less = isChat ? ` Ask for less with a lower ${field}.` : ''
  return new ApiError('invalid_request', {
    param: isChat ? field : 'input',
    message: `${reserves(order)}, ${most}${less} Nothing was charged.`,
  })
}

/** The refusal of a call for which the minute has too few tokens left. */
export function spentTokensError(order: Sized, allowances: readonly TokenAllowance[]): ApiError {
  const lacking = allowances.filter(({ remaining }) => remaining < reservedTokens(order.estimate))
  const left = Math.min(...lacking.map(({ remaining }) => remaining))
  return new ApiError('rate_limited', {
    message: `${reserves(order)}; ${left} are left of the ${mostTokens(lacking)} of this minute. Nothing was charged.`,
    retryAfterSeconds: Math.max(1, ...lacking.map(({ resetSeconds }) => resetSeconds)),
  })
}

const reserves = (order: Sized): string => `This call reserves ${reservedTokens(order.estimate)} tokens`
