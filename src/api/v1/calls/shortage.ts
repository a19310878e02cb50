/**
 * The message for a call that cannot be paid: what it reserves, what is left, what running calls hold, and how to ask
 * for less.
 */
import type { Funds, Source } from '../../../shared/identity/summary.ts'
import type { CallOrder } from './call-order.ts'

/** What is too little for a call. */
export type Short = 'balance' | 'keyBudget' | 'memberBudget'

/** Credits that a call lacks. `inUse`: it could be paid but for what running calls hold. */
export type Shortage = { short: Short; inUse: boolean }

/** Where the credits of a budget are left; those of the balance need no more words. */
const OF: Record<Short, string> = {
  balance: '',
  keyBudget: ' of the budget of this key',
  memberBudget: ' of your budget in this account',
}

/** The message of a refusal for credits; undefined, which means the code's own, if the account was deleted. */
export function shortageMessage(
  { charge, request }: Pick<CallOrder, 'charge' | 'request'>,
  funds: Funds | null,
  { short, inUse }: Shortage,
): string | undefined {
  if (!funds) return undefined
  if (short === 'balance' && !inUse && funds.debt > 0) {
    const debt = credits(funds.debt)
    return `This account owes ${debt} for earlier calls, which the next credits repay. Nothing was charged.`
  }
  const isChat = 'max_tokens' in request
  const limit = isChat ? ` (max_tokens ${request.max_tokens}${(request.n ?? 1) > 1 ? `, n ${request.n}` : ''})` : ''
  const { left, held }: Source = (short === 'balance' ? funds.spendable : funds[short]) ?? { left: 0, held: 0 }
  const free = `${isAre(Math.max(0, left))} left${OF[short]}`
  const heldToo = inUse ? ` and ${isAre(held)} held by calls that run` : ''
  const later = inUse ? ' Try again shortly.' : ''
  const less = isChat ? ' Ask for less with a lower max_tokens.' : ''
  return `This call reserves ${credits(charge)}${limit}; ${free}${heldToo}.${later}${less} Nothing was charged.`
}

const credits = (count: number): string => `${count} credit${count === 1 ? '' : 's'}`

const isAre = (count: number): string => `${count} ${count === 1 ? 'is' : 'are'}`
