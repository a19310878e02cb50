/**
 * `X-Callback-Url`: where the end of a call is reported (docs/webhooks.md#callbacks).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { AccountId } from '../../../shared/platform/ids.ts'
import { receiverProblem } from '../../../shared/webhooks/addresses.ts'
import { createSecretBox } from '../../../shared/webhooks/secrets.ts'
import { hasCallbackSecret, makeCallbackSecret } from '../../../shared/webhooks/webhooks.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import type { WebDeps } from '../../deps.ts'

const HEADER = 'X-Callback-Url'

/** The address that a request names; undefined where it names none. */
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
