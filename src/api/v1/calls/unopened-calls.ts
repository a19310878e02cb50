/**
 * The error for a call that was not opened.
 */
import { resetOf } from '../../../shared/accounts/budgets.ts'
import { fundsOf } from '../../../shared/accounts/summary.ts'
import type { OpenOutcome, OpenRequest } from '../../../shared/calls/types.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import type { CallOrder } from './call-order.ts'
import { guardError } from './price-guards.ts'
import { shortageMessage } from './shortage.ts'
import { aboveLimitError, spentTokensError } from './token-limit.ts'

/** How long a client with too many open calls should wait, in seconds. */
const OUTSTANDING_RETRY_SECONDS = 5

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

/** The error of a refusal. */
export async function refusalOf(
  { db }: Pick<WebDeps, 'db'>,
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
        message: shortageMessage(order, await fundsOf(db, request), refusal),
        resetsAt: await resetOf(db, request.keyId, refusal === 'key_budget_exceeded' ? 'key' : 'member'),
      })
    case 'insufficient_credits':
      return new ApiError(refusal, { message: shortageMessage(order, await fundsOf(db, request), refusal) })
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
