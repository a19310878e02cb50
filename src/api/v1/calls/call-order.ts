/**
 * A call before it is placed: its request, and what it costs.
 */
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import type { Dialect } from '../../../shared/chat/dialect.ts'
import type { CallBounds, ChatPrice, Share, Tokens } from '../../../shared/terms/pricing.ts'
import { chatCharge, limitWithin } from '../../../shared/terms/pricing.ts'
import type { FormFile } from '../../forms/form-file.ts'
import type { CallRequest } from '../../../shared/requests/requests.ts'

/** What a chat costs with a lower limit of its output. */
export type Lowered = { maxTokens: number; estimate: Tokens; charge: number }

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
  /** What else it is than a call of its modality or dialect: the same body asks for something else then. */
  sort?: string | undefined
  /** The files of its form, as far as it refers to them by their places. */
  files?: readonly FormFile[] | undefined
  /** The API of a chat, if it is not chat completions, and the betas that its upstream may be asked for. */
  dialect?: Dialect | undefined
  betas?: string[] | undefined
  /** The tools of upstreams that were left out, by their names. */
  droppedTools?: readonly string[] | undefined
  /** How long it may take where its model states nothing, in seconds; as its modality where absent. */
  deadlineSeconds?: number | undefined
  /** Absent where the limit of the output must not be lowered. */
  lowerTo?: LowerTo | undefined
}

/** An order with a lower limit of its output. */
export const lowered = <O extends CallOrder>(order: O, { maxTokens, estimate, charge }: Lowered): O => ({
  ...order,
  request: { ...order.request, max_tokens: maxTokens },
  estimate,
  charge,
})
