/**
 * The message for a call that cannot be paid: what it reserves, what is left, and how to ask for less.
 */
import type { Funds } from '../../../shared/accounts/summary.ts'
import type { CallOrder } from './call-order.ts'

/** The sentences of a 402; undefined, which leaves the code's own, where the account has gone. */
export function shortageMessage(
  { charge, request }: Pick<CallOrder, 'charge' | 'request'>,
  funds: Funds | null,
  refusal: 'insufficient_credits' | 'key_budget_exceeded' | 'member_budget_exceeded',
): string | undefined {
  if (!funds) return undefined
  if (refusal === 'insufficient_credits' && funds.debt > 0) {
    const debt = credits(funds.debt)
    return `This account owes ${debt} for earlier calls, which the next credits repay. Nothing was charged.`
  }
  const isChat = 'max_tokens' in request
  const limit = isChat ? ` (max_tokens ${request.max_tokens}${(request.n ?? 1) > 1 ? `, n ${request.n}` : ''})` : ''
  const left = {
    insufficient_credits: `${isAre(funds.spendable)} left`,
    key_budget_exceeded: `${isAre(funds.keyBudget ?? 0)} left of the budget of this key`,
    member_budget_exceeded: `${isAre(funds.memberBudget ?? 0)} left of your budget in this account`,
  }[refusal]
  const less = isChat ? ' Ask for less with a lower max_tokens.' : ''
  return `This call reserves ${credits(charge)}${limit}; ${left}.${less} Nothing was charged.`
}

const credits = (count: number): string => `${count} credit${count === 1 ? '' : 's'}`

const isAre = (count: number): string => `${count} ${count === 1 ? 'is' : 'are'}`
