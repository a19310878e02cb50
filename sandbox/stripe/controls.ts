import { originOf } from '../exchange.ts'
import type { Exchange, Protocol, Route } from '../exchange.ts'
import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import type { StripeAccount } from './account.ts'
import { isCard } from './cards.ts'
import { dueSession } from './checkout.ts'
import { endDispute, openDispute, reinstate, withdraw } from './disputes.ts'
import { need, stripeError } from './errors.ts'
import { deliver, emit } from './events.ts'
import { EVENT_FAULTS, REQUEST_FAULTS } from './faults.ts'
import type { Kinds, StoredEvent } from './objects.ts'
import { LATER, pay, settle } from './paying.ts'
import type { Payment } from './paying.ts'
import { finishRefund } from './refunds.ts'
import { accountOf } from './secret-key.ts'

const DEFAULT_RETRIES_MS = [500, 2000, 5000, 15_000, 60_000]

type Control = (account: StripeAccount, id: string, fields: Fields, origin: string) => unknown

/**
 * What a test or a demonstration can cause at Stripe's side: actions of customers and banks, and faults. JSON in and
 * out, with the secret key of the account.
 */
const CONTROLS = {
  /** Where the events go: `{url, secret, hold?, retryMs?, laterMs?}`. */
  'POST /stripe/control/endpoint': (account, _id, fields) => {
    account.endpoint = {
      url: text(fields, 'url'),
      secret: text(fields, 'secret'),
      hold: fields['hold'] === true,
      retryMs: (fields['retryMs'] as number[] | undefined) ?? DEFAULT_RETRIES_MS,
    }
    if (typeof fields['laterMs'] === 'number') account.laterMs = fields['laterMs']
    return { ok: true }
  },
  /** Requests a fault: `{at, fault, times?}`. */
  'POST /stripe/control/faults': (account, _id, fields) => {
    const fault = text(fields, 'fault')
    const known: readonly string[] = [...REQUEST_FAULTS, ...EVENT_FAULTS]
    if (!known.includes(fault)) throw bad(`fault must be one of ${known.join(', ')}`)
    account.faults.add({ at: text(fields, 'at'), fault, times: Number(fields['times'] ?? 1) })
    return { ok: true }
  },
  'DELETE /stripe/control/faults': (account) => {
    account.faults.clear()
    return { ok: true }
  },
  /** Pays for a session, as its page does: `{way, keep?, authenticated?}`. */
  'POST /stripe/control/sessions/:id/pay': (account, id, fields, origin) => {
    const way = text(fields, 'way')
    if (!isCard(way) && !Object.hasOwn(LATER, way)) throw bad('way is none of the page')
    const choice = { way: way as Payment['way'], keep: fields['keep'] === true }
    const session = dueSession(account, need(account, 'checkout.session', id))
    return pay(account, session, { ...choice, authenticated: fields['authenticated'] === true }, origin)
  },
  /** The bank's answer to a payment that comes later: `{paid}`. */
  'POST /stripe/control/sessions/:id/settle': (account, id, fields) => {
    settle(account, need(account, 'checkout.session', id), fields['paid'] === true)
    return { ok: true }
  },
  /** Replaces the test card of a saved payment method: `{card}`. */
  'POST /stripe/control/cards/:id': (account, id, fields) => {
    const card = text(fields, 'card')
    if (!isCard(card)) throw bad('card is none of the page')
    account.cards.set(need(account, 'payment_method', id).id, card)
    return { ok: true }
  },
  /** Lets a refund end: `{status: 'succeeded' | 'failed'}`. */
  'POST /stripe/control/refunds/:id': (account, id, fields) =>
    finishRefund(account, need(account, 'refund', id), text(fields, 'status') as 'succeeded' | 'failed'),
  /** Opens a dispute of a charge: `{amount?, reason?, inquiry?}`. No money moves yet. */
  'POST /stripe/control/charges/:id/dispute': (account, id, fields) =>
    openDispute(account, need(account, 'charge', id), fields),
  /** Takes a dispute further: `{to: 'withdrawn' | 'reinstated' | 'won' | 'lost' | 'warning_closed'}`. */
  'POST /stripe/control/disputes/:id': (account, id, fields) => {
    const dispute = need(account, 'dispute', id)
    const to = text(fields, 'to')
    if (to === 'withdrawn') return withdraw(account, dispute)
    if (to === 'reinstated') return reinstate(account, dispute)
    if (to === 'won' || to === 'lost' || to === 'warning_closed') return endDispute(account, dispute, to)
    throw bad('to must be one of withdrawn, reinstated, won, lost, warning_closed')
  },
  /** Changes any fields of an object, without an event. */
  'POST /stripe/control/objects/:id': (account, id, fields) => {
    const object = account.objects.any(id)
    if (!object) throw new Refusal({ status: 404, message: `No such object: '${id}'` })
    return Object.assign(object, fields)
  },
  /** Every object of a kind, newest first, unaffected by faults. */
  'GET /stripe/control/list/:id': (account, id) => ({ data: account.objects.list(id as keyof Kinds) }),
  /** Sends an event about an object, as it is now or with other fields: `{type, object, set?}`. */
  'POST /stripe/control/events': (account, _id, fields) => {
    const object = account.objects.any(text(fields, 'object'))
    if (!object) throw new Refusal({ status: 404, message: 'No such object.' })
    return emit(account, text(fields, 'type'), { ...object, ...(fields['set'] as Fields | undefined) })
  },
  /** Delivers an event now, once: `{secondsAgo?, secret?}` sign it otherwise. Answers the status of the endpoint. */
  'POST /stripe/control/events/:id/deliver': async (account, id, fields) => {
    const event: StoredEvent = need(account, 'event', id)
    const posting = { secondsAgo: Number(fields['secondsAgo'] ?? 0), secret: asText(fields['secret']) || undefined }
    return { status: await deliver(account, event, posting) }
  },
  /** Every attempt to deliver an event, oldest first. */
  'GET /stripe/control/deliveries': (account) => ({ data: account.deliveries }),
} satisfies Readonly<Record<string, Control>>

/** The name of a control: its method and path. */
export type ControlName = keyof typeof CONTROLS

/** Every control, as the help prints them. */
export const CONTROL_NAMES = Object.keys(CONTROLS) as readonly ControlName[]

/** What a control is asked: the `:id` of its path, and its fields. */
export type ControlRequest = { readonly id?: string; readonly fields?: Fields }

/** Works a control; `origin` is where the sandbox's pages are. Throws a `Refusal` for objects of other accounts. */
export function workControl(
  account: StripeAccount,
  name: ControlName,
  { id = '', fields = {} }: ControlRequest,
  origin: string,
): unknown {
  const control: Control = CONTROLS[name]
  return control(account, id, fields, origin)
}

/** The controls as routes. */
export const stripeControls: Protocol = {
  name: 'stripe-controls',
  envelope: stripeError,
  outOfCredit: { status: 402, message: 'Out of credit.' },
  routes: CONTROL_NAMES.map(routeOf),
}

function routeOf(name: ControlName): Route {
  const [method, path] = name.split(' ') as [Route['method'], string]
  return { method, path, handle: (exchange) => carryOut(exchange, name) }
}

async function carryOut(exchange: Exchange, name: ControlName): Promise<void> {
  const asked = { id: exchange.params['id'], fields: exchange.body.fields }
  const answer = await workControl(accountOf(exchange), name, asked, originOf(exchange))
  exchange.state.stripe.changed()
  exchange.res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

function text(fields: Fields, name: string): string {
  const found = asText(fields[name])
  if (!found) throw bad(`${name} must be a text`)
  return found
}

function bad(message: string): Refusal {
  return new Refusal({ status: 400, message })
}
