/**
 * The headers of a request that places a call. `X-Max-Credits` and `X-Price-Version`: what a client wants to pay, at
 * most and at which price; they guard against a charge, so a retry that joins a call is not held to them: its charge
 * was made. `X-Callback-Url`: where the end is reported (docs/webhooks.md#callbacks). `Prefer` (RFC 7240).
 */
import type { Context } from 'koa'
import { priceVersionOf } from '../../../shared/terms/price-versions.ts'
import type { OpenRequest } from '../../../shared/calls/types.ts'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import type { AccountId } from '../../../shared/platform/ids.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { receiverProblem } from '../../../shared/webhooks/addresses.ts'
import { createSecretBox } from '../../../shared/webhooks/secrets.ts'
import { hasCallbackSecret, makeCallbackSecret } from '../../../shared/webhooks/webhooks.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import type { WebDeps } from '../../deps.ts'

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
 * Why a call must not be charged; null if no guard of its request is against it.
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

const HEADER = 'X-Callback-Url'

/** The address that a request names; undefined if it names none. */
export function callbackUrlOf({ 'x-callback-url': url }: IncomingHttpHeaders): string | undefined {
  return url === undefined ? undefined : String(url)
}

/**
 * Checks the address that a request names, and makes the secret that signs what it is sent, if the account has none.
 * A request without one asks nothing of Postgres. @throws ApiError invalid_request for one that no event may go to
 */
export async function prepareCallback(
  headers: IncomingHttpHeaders,
  { db, config }: Pick<WebDeps, 'db' | 'config'>,
  account: AccountId,
): Promise<void> {
  const url = callbackUrlOf(headers)
  if (url === undefined) return
  const problem = receiverProblem(url, config.WEBHOOK_ALLOW_PRIVATE === 'on')
  if (problem !== null) throw fieldRefusal(HEADER, problem)
  if (!(await hasCallbackSecret(db, account))) await makeCallbackSecret(db, createSecretBox(config), account)
}

/**
 * The preferences of a request in lower case, without the parameters behind their semicolons. Commas in
 * quotes separate nothing.
 */
export const preferencesOf = ({ prefer }: IncomingHttpHeaders): string[] =>
  (String(prefer ?? '').match(/(?:"[^"]*"?|[^",])+/g) ?? []).map((text) => text.split(';', 1)[0]!.trim().toLowerCase())

/** Whether a client asks to fetch its answer later. */
export const prefersLater = (headers: IncomingHttpHeaders): boolean => preferencesOf(headers).includes('respond-async')
