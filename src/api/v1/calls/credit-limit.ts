/**
 * Chats whose limit of output is lowered to what can be paid: to half of what is free, so that other calls of the
 * account find credits too (docs/money.md#lowered-limits).
 */
import type { Funds } from '../../../shared/identity/summary.ts'
import { payable } from '../../../shared/identity/summary.ts'
import type { CallOrder } from './call-order.ts'
import { lowered } from './call-order.ts'

/** The tokens that a call may have at most, and those of output below which no limit is lowered. */
export type TokenBounds = { tokens: number; least: number }

/**
 * The order as it can be paid now, or once running calls have given back what they hold: as it is if that is possible
 * now, else with a lower limit. A lowered one takes half of the credits that are free at most, and more only for the
 * least output tokens. Null if neither is possible.
 */
export function withinFunds<O extends CallOrder>(order: O, funds: Funds, { tokens, least }: TokenBounds): O | null {
  const { now, later } = payable(funds)
  if (later === null) return null
  const free = now ?? 0
  if (now !== null && order.charge <= now) return order
  const share = Math.floor(free / 2)
  const less = order.lowerTo?.({ credits: later, share, tokens }, least)
  if (!less) return null
  return { ...lowered(order, less), leaves: less.charge <= share ? less.charge : 0 }
}

/** The least credits that would pay the call: those of its lowest limit, where that may be lowered. */
export const leastChargeOf = (order: CallOrder, least: number): number =>
  order.lowerTo?.({ credits: Infinity, share: 0, tokens: Infinity }, least)?.charge ?? order.charge
