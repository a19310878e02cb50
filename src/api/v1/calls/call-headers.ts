/**
 * `X-Max-Credits` and `X-Price-Version`: what a client wants to pay, at most and at which price. They guard against a
 * charge, so a retry that joins a call is not held to them: its charge was made.
 */
import type { Context } from 'koa'
import { priceVersionOf } from '../../../shared/terms/price-versions.ts'
import type { OpenRequest } from '../../../shared/calls/types.ts'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'

type Priced = { model: Pick<Model, 'id' | 'price'>; charge: number }

/** What clients know the version of a model's price by. */
export const versionOf = ({ id, price }: Priced['model']): string => publicId('price', priceVersionOf(id, price).id)

/** A number of credits, as a header has it. */
const CREDITS = /^\d{1,15}$/

type Request = Pick<Context, 'req'>

/** The most that a request is willing to pay; null if it states nothing. @throws ApiError invalid_request. */
export function maxCreditsOf({ req }: Request): number | null {
  const { 'x-max-credits': most } = req.headers
  if (most === undefined) return null
  if (CREDITS.test(String(most))) return Number(most)
  throw new ApiError('invalid_request', {
    param: 'X-Max-Credits',
    message: 'X-Max-Credits must be a whole number of credits, at least 0.',
  })
}

/**
 * Why a call must not be charged; null where no guard of its request is against it.
 * @throws ApiError invalid_request for an `X-Max-Credits` that is not a number of credits.
 */
export function priceGuard(ctx: Request, { model, charge }: Priced): OpenRequest['guarded'] {
  const most = maxCreditsOf(ctx)
  if (most !== null && charge > most) return 'price_above_limit'
  const { 'x-price-version': version } = ctx.req.headers
  return version !== undefined && version !== versionOf(model) ? 'price_changed' : null
}

/** The answer to a call that its guard refused. */
export function guardError(refusal: 'price_above_limit' | 'price_changed', { model, charge }: Priced): ApiError {
  return refusal === 'price_above_limit'
    ? new ApiError(refusal, {
        param: 'X-Max-Credits',
        message: `This call would be charged ${charge} credits. Nothing was charged.`,
      })
    : new ApiError(refusal, {
        param: 'X-Price-Version',
        message: `The price of this model is now ${versionOf(model)}. Nothing was charged.`,
      })
}
