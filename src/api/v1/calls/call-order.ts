/**
 * A call before it is placed: its request, what it costs, and how the limit of its output is lowered: to what can be
 * paid (docs/money.md#lowered-limits), and to the tokens of a minute.
 */
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import type { Dialect } from '../../../shared/chat/dialect.ts'
import { dialectOf } from '../../../shared/chat/dialect.ts'
import type { CallBounds, ChatPrice, Share, Tokens } from '../../../shared/terms/pricing.ts'
import { chatCharge, limitWithin, reservedTokens } from '../../../shared/terms/pricing.ts'
import type { FormFile } from '../../forms/form-file.ts'
import type { CallSession, QueuedModel } from '../../../shared/queues.ts'
import type { CallRequest } from '../../../shared/requests/requests.ts'
import type { Funds } from '../../../shared/identity/summary.ts'
import { payable } from '../../../shared/identity/summary.ts'
import type { TokenAllowance } from '../../../shared/identity/account-limits.ts'
import { mostTokens } from '../../../shared/identity/account-limits.ts'
import { ApiError } from '../../../shared/platform/errors.ts'

/** What a chat costs with a lower limit of its output. `models`: the limit of each model of its list. */
export type Lowered = { maxTokens: number; estimate: Tokens; charge: number; models?: readonly Limited[] }

type Limited = { maxTokens: number; estimate: Tokens }

/** Lowers the limit of a chat's output to what can be paid; null if that is fewer than `least` tokens. */
export type LowerTo = (bounds: CallBounds, least: number) => Lowered | null

/**
 * What lowers the limit of a chat, and charges less for it.
 * @param asked the number of choices, the limit of each, and the estimate for all of them
 */
export const loweringOf =
  (price: ChatPrice & Share, asked: { limit: number; choices: number; estimate: Tokens }): LowerTo =>
  (bounds, least) => {
    const { limit, choices, estimate } = asked
    const maxTokens = limitWithin(bounds, price, { ...asked, least })
    if (maxTokens === null) return null
    const lowered = { ...estimate, output: estimate.output - (limit - maxTokens) * choices }
    return { maxTokens, estimate: lowered, charge: chatCharge(price, lowered) }
  }

/** A validated body, and the credits that its call is charged when it opens. `estimate`: of what is paid by tokens. */
export type CallOrder = {
  model: Model
  request: CallRequest
  estimate: Tokens | null
  charge: number
  /** Credits that must stay free for other calls next to the charge; 0 if absent. */
  leaves?: number | undefined
  body: Record<string, unknown>
  /** How its body was written, where an upstream may get it so. */
  text?: string | undefined
  /** What else it is than a call of its modality or dialect: the same body asks for something else then. */
  sort?: string | undefined
  /** The files of its form, as far as it refers to them by their places. */
  files?: readonly FormFile[] | undefined
  /** The API of a chat, if it is not chat completions, and the betas that its upstream may be asked for. */
  dialect?: Dialect | undefined
  betas?: string[] | undefined
  /** The session that a chat belongs to. */
  session?: CallSession | undefined
  /** The models that may answer a chat, in their order, if it names several. */
  models?: readonly QueuedModel[] | undefined
  /** The tools of upstreams that were left out, by their names. */
  droppedTools?: readonly string[] | undefined
  /** How long it may take where its model states nothing, in seconds; as its modality if absent. */
  deadlineSeconds?: number | undefined
  /** Absent where the limit of the output must not be lowered. */
  lowerTo?: LowerTo | undefined
}

/** An order with a lower limit of its output. */
export const lowered = <O extends CallOrder>(order: O, { maxTokens, estimate, charge, models }: Lowered): O => ({
  ...order,
  request: { ...order.request, max_tokens: maxTokens },
  estimate,
  charge,
  ...(models && { models: order.models?.map((one, at) => ({ ...one, ...models[at] })) }),
})

/** The tokens that a call may have at most, and those of output below which no limit is lowered. */
export type TokenBounds = { tokens: number; least: number }

/**
 * The order as it can be paid now, or once running calls have given back what they hold: as it is if that is possible
 * now, else with a lower limit. A lowered one takes half of the credits that are free at most, so that other calls of
 * the account find credits too, and more only for the least output tokens. Null if neither is possible.
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

type Sized = Pick<CallOrder, 'estimate' | 'request' | 'dialect'>

/** Whether a call reserves more than a minute has, so that it can never be opened. */
export const isAboveLimit = (order: Sized, allowances: readonly TokenAllowance[]): boolean =>
  reservedTokens(order.estimate) > mostTokens(allowances)

/**
 * The order, lowered to the tokens of a minute where that can be done. What other calls have left of the minute lowers
 * no call: its client waits for the next one instead. @param least output tokens of a lowered one
 */
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
