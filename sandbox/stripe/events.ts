import { createHmac } from 'node:crypto'
import { API_VERSION, newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import type { StoredEvent } from './objects.ts'

const DELIVERY_TIMEOUT_MS = 10_000
const DAY_SECONDS = 86_400
const MAX_DELIVERIES = 10_000

/** How an event is to be delivered, where not as usual: signed so long ago, or with another secret. */
export interface Posting {
  readonly secondsAgo?: number
  readonly secret?: string
}

/** Makes an event about an object as it is now, and sends it to the account's endpoint. */
export function emit(account: StripeAccount, type: string, object: object): StoredEvent {
  const event: StoredEvent = {
    id: newId('evt'),
    object: 'event',
    api_version: API_VERSION,
    created: seconds(),
    data: { object: structuredClone(object) },
    livemode: account.livemode,
    pending_webhooks: account.endpoint ? 1 : 0,
    request: { id: null, idempotency_key: null },
    type,
  }
  const fault = account.faults.ofEvent(type)
  if (fault === 'day-late') event.created -= DAY_SECONDS
  account.objects.add(event)
  const kept = fault === 'lost' || fault === 'day-late' || account.endpoint?.hold === true
  if (kept) return event
  if (fault === 'after-next') {
    account.overtaken.push(event)
    return event
  }
  const late = account.overtaken.splice(0)
  sendInOrder(account, fault === 'doubled' ? [event, event, ...late] : [event, ...late]).catch(account.timers.failed)
  return event
}

async function sendInOrder(account: StripeAccount, events: readonly StoredEvent[]): Promise<void> {
  for (const event of events) await deliver(account, event)
}

/**
 * Sends an event to the account's endpoint, and (without a `posting`) again after pauses until it is taken. Returns
 * after the first try, with its status: 0 without an answer.
 */
export async function deliver(
  account: StripeAccount,
  event: StoredEvent,
  posting?: Posting,
  tried = 0,
): Promise<number> {
  const { endpoint } = account
  if (!endpoint) return 0
  const status = await post(account, endpoint.url, event, posting?.secret ?? endpoint.secret, posting?.secondsAgo ?? 0)
  const delivery = { event: event.id, type: event.type, at: new Date().toISOString(), status }
  account.deliveries.push(delivery)
  if (account.deliveries.length > MAX_DELIVERIES) account.deliveries.shift()
  if (status >= 200 && status < 300) {
    event.pending_webhooks = 0
    return status
  }
  const pause = endpoint.retryMs[tried]
  if (pause !== undefined && !posting)
    account.timers.later(pause, () => {
      deliver(account, event, undefined, tried + 1).catch(account.timers.failed)
    })
  return status
}

async function post(
  account: StripeAccount,
  url: string,
  event: StoredEvent,
  secret: string,
  secondsAgo: number,
): Promise<number> {
  const payload = JSON.stringify(event, null, 2)
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
        'stripe-signature': signature(payload, secret, seconds() - secondsAgo),
      },
      body: payload,
      redirect: 'manual',
      signal: AbortSignal.any([account.timers.stopped, AbortSignal.timeout(DELIVERY_TIMEOUT_MS)]),
    })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 0
  }
}

/** The `Stripe-Signature` of a payload at a time, in seconds since the epoch. */
function signature(payload: string, secret: string, at: number): string {
  const hmac = createHmac('sha256', secret).update(`${at}.${payload}`)
  return `t=${at},v1=${hmac.digest('hex')}`
}
