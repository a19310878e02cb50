import { randomBytes } from 'node:crypto'
import Stripe from 'stripe'
import { request } from 'undici'

/** A fresh account at the sandbox's Stripe, and everything that may happen to it. */
export interface StripeAccount {
  /** Its keys of both modes. */
  readonly key: string
  readonly liveKey: string
  /** The official client; it never asks again by itself. */
  readonly stripe: Stripe
  /** Does something on the other side of the API; see `sandbox/stripe/controls.ts`. Throws for a refusal. */
  readonly control: (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<Answered>
  /** Orders a fault: `at` is `POST /v1/refunds`, an event's type or `*`. */
  readonly fault: (at: string, fault: string, times?: number) => Promise<void>
  /** Pays for a session as its page does; returns the result. */
  readonly pay: (session: string, way?: string, more?: { keep?: boolean; authenticated?: boolean }) => Promise<Answered>
  /** Every object of a kind (`payment_intent`, `event`), newest first, also under faults. */
  readonly list: <T>(kind: string) => Promise<T[]>
  /** Sends the account's events there. */
  readonly deliverTo: (url: string, secret: string, more?: { hold?: boolean; retryMs?: number[] }) => Promise<void>
}

/** Parsed JSON of the sandbox. */
// oxlint-disable-next-line typescript/no-explicit-any
type Answered = Record<string, any>

/** A fresh account at the sandbox that listens at `url`. */
export function stripeAccountAt(url: string, name = `n${randomBytes(8).readBigUInt64BE()}`): StripeAccount {
  // The sandbox refuses keys with "bad" in them, which hexadecimal names may have.
  const key = `sk_test_${name}`
  const control: StripeAccount['control'] = async (method, path, body) => {
    // Not by fetch, which costs twice as much: the crash tests ask fifty thousand times.
    const { statusCode, body: answer } = await request(`${url}/stripe/control/${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
    })
    const answered = (await answer.json()) as Answered
    if (statusCode !== 200) throw new Error(`${method} ${path}: ${statusCode} ${JSON.stringify(answered)}`)
    return answered
  }
  return {
    key,
    liveKey: `sk_live_${name}`,
    stripe: stripeClient(url, key),
    control,
    fault: async (at, fault, times = 1) => void (await control('POST', 'faults', { at, fault, times })),
    pay: (session, way = 'card', more = {}) => control('POST', `sessions/${session}/pay`, { way, ...more }),
    list: async <T>(kind: string) => (await control('GET', `list/${kind}`))['data'] as T[],
    deliverTo: async (to, secret, more = {}) => void (await control('POST', 'endpoint', { url: to, secret, ...more })),
  }
}

/** The official client of a key, with the sandbox as its Stripe. */
export function stripeClient(url: string, key: string): Stripe {
  const { hostname, port } = new URL(url)
  return new Stripe(key, {
    host: hostname,
    port: Number(port),
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  })
}
