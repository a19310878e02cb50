/**
 * A call before it is placed: its request, and what it costs.
 */
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import type { Dialect } from '../../../shared/dialects/dialect.ts'
import type { Tokens } from '../../../shared/requests/pricing.ts'
import type { CallRequest } from '../../../shared/requests/requests.ts'

/** What a chat costs with a lower limit of its output. */
export type Lowered = { maxTokens: number; estimate: Tokens; charge: number }

/** A validated body, and the credits that its call is charged when it opens. `estimate`: of what is paid by tokens. */
export type CallOrder = {
  model: Model
  request: CallRequest
  estimate: Tokens | null
  charge: number
  body: Record<string, unknown>
  /** In which a chat is asked, where that is not chat completions, and the betas that its upstream may be asked for. */
  dialect?: Dialect | undefined
  betas?: string[] | undefined
  /** The tools of upstreams that were left out, by their names. */
  droppedTools?: readonly string[] | undefined
  /** How long it may take where its model does not say, in seconds; as its modality where absent. */
  deadlineSeconds?: number | undefined
  /**
   * Lowers a limit that the model gives until the call costs at most `credits`; null if that leaves fewer than `least`
   * output tokens. Absent where the request states its own limit, or the model gives at most 1,024.
   */
  lowerTo?: ((credits: number, least: number) => Lowered | null) | undefined
}

/** An order with a lower limit of its output. */
export const lowered = <O extends CallOrder>(order: O, { maxTokens, estimate, charge }: Lowered): O => ({
  ...order,
  request: { ...order.request, max_tokens: maxTokens },
  estimate,
  charge,
})
