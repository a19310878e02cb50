/**
 * The error for a call that was not opened.
 */
import { resetOf } from '../../../shared/identity/budgets.ts'
import type { Funds, Source } from '../../../shared/identity/summary.ts'
import { fundsOf } from '../../../shared/identity/summary.ts'
import type { InUse, OpenOutcome, OpenRequest } from '../../../shared/calls/types.ts'
import { demandTopUp } from '../../../shared/payments/top-ups.ts'
import type { ErrorCode } from '../../../shared/platform/errors.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import type { CallOrder } from './call-order.ts'
import { leastChargeOf, aboveLimitError, spentTokensError } from './call-order.ts'
import { guardError } from './call-headers.ts'

/** How long a client with too many open calls should wait, in seconds. */
const OUTSTANDING_RETRY_SECONDS = 5

/** How long a client should wait for credits that running calls hold, in seconds. */
const IN_USE_RETRY_SECONDS = 2

const TOO_MUCH = {
  too_many_calls: 'This account has too many open calls.',
  too_many_calls_of_key: 'This key has too many open calls.',
  too_many_bytes: 'The open requests of this account are too large in total.',
} as const

/** The account was given another group while its call was placed, which has to be asked anew at the prices of that. */
export class GroupChanged extends ApiError {
  constructor() {
    super('service_unavailable', {
      message: 'The prices of this account have just changed. Nothing was charged; send the request again.',
      retryAfterSeconds: 1,
    })
  }
}

/** The error of a refusal. One for the balance makes an automatic top-up due, if that is configured. */
export async function refusalOf(
  { db, config }: Pick<WebDeps, 'db' | 'config'>,
  request: OpenRequest,
  order: CallOrder,
  { refusal, tokens }: Extract<OpenOutcome, { refusal: string }>,
): Promise<ApiError> {
  switch (refusal) {
    case 'too_many_calls':
    case 'too_many_calls_of_key':
    case 'too_many_bytes':
      return new ApiError('rate_limited', {
        message: TOO_MUCH[refusal],
        retryAfterSeconds: OUTSTANDING_RETRY_SECONDS,
      })
    case 'too_many_tokens':
      return spentTokensError(order, tokens)
    case 'tokens_above_limit':
      return aboveLimitError(order, tokens)
    case 'key_budget_exceeded':
    case 'member_budget_exceeded':
      return new ApiError(refusal, {
        message: shortageMessage(order, await fundsOf(db, request), { short: SHORT[refusal], inUse: false }),
        resetsAt: await resetOf(db, request.keyId, refusal === 'key_budget_exceeded' ? 'key' : 'member'),
      })
    case 'insufficient_credits': {
      const funds = await fundsOf(db, request)
      if (funds?.hasTopUp) {
        await demandTopUp(db, request.accountId, leastChargeOf(order, config.MIN_OUTPUT_TOKENS))
      }
      return new ApiError(refusal, { message: shortageMessage(order, funds, { short: 'balance', inUse: false }) })
    }
    case 'credits_in_use':
    case 'key_budget_in_use':
    case 'member_budget_in_use':
      return inUseError(order, await fundsOf(db, request), refusal)
    case 'model_not_allowed':
      return new ApiError(refusal, { param: 'model' })
    case 'price_above_limit':
    case 'price_changed':
      return guardError(refusal, order)
    case 'group_changed':
      return new GroupChanged()
    case 'unauthorized':
    case 'ip_not_allowed':
    case 'account_suspended':
      return new ApiError(refusal)
  }
}

const SHORT = { key_budget_exceeded: 'keyBudget', member_budget_exceeded: 'memberBudget' } as const

/** What each of these is short of, and how the gateway's own form names that. */
const IN_USE: Record<InUse, { short: Short; shownAs: ErrorCode }> = {
  credits_in_use: { short: 'balance', shownAs: 'insufficient_credits' },
  key_budget_in_use: { short: 'keyBudget', shownAs: 'key_budget_exceeded' },
  member_budget_in_use: { short: 'memberBudget', shownAs: 'member_budget_exceeded' },
}

/** The refusal of a call that could be paid but for what running calls hold. */
function inUseError(order: CallOrder, funds: Funds | null, refusal: InUse): ApiError {
  const { short, shownAs } = IN_USE[refusal]
  return new ApiError('credits_in_use', {
    message: shortageMessage(order, funds, { short, inUse: true }),
    shownAs,
    retryAfterSeconds: IN_USE_RETRY_SECONDS,
  })
}

/** What is too little for a call. */
type Short = 'balance' | 'keyBudget' | 'memberBudget'

/** Credits that a call lacks. `inUse`: it could be paid but for what running calls hold. */
type Shortage = { short: Short; inUse: boolean }

/** Where the credits of a budget are left; those of the balance need no more words. */
const OF: Record<Short, string> = {
  balance: '',
  keyBudget: ' of the budget of this key',
  memberBudget: ' of your budget in this account',
}

/**
 * The message for a call that cannot be paid: what it reserves, what is left, what running calls hold, and how to ask
 * for less; undefined, which means the code's own, if the account was deleted.
 */
function shortageMessage(
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
