import { setSourceMapsEnabled } from 'node:process'
import type Stripe from 'stripe'
import type { StripeAccount } from '../../../scripts/harness/stripe-sandbox.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import type { ControlName, ControlRequest } from '../../../sandbox/stripe/controls.ts'
import type { Kinds } from '../../../sandbox/stripe/objects.ts'
import type { Catalogue } from '../../../src/shared/catalogue/catalogue.ts'
import { ApiError } from '../../../src/shared/platform/errors.ts'
import type { CallId } from '../../../src/shared/platform/ids.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { cancelOrder } from '../../../src/shared/payments/cancel.ts'
import { startCheckout, termsOf } from '../../../src/shared/payments/checkout.ts'
import type { PaymentDeps } from '../../../src/shared/payments/deps.ts'
import { providerOf } from '../../../src/shared/payments/deps.ts'
import { storeEvent } from '../../../src/shared/payments/events.ts'
import { checkOrder, handleEvent } from '../../../src/shared/payments/check.ts'
import type { PaymentRow } from '../../../src/shared/payments/orders.ts'
import { ProviderUnavailable, ProviderRefused } from '../../../src/shared/payments/provider.ts'
import { refundPayment } from '../../../src/shared/payments/refunds.ts'
import { billingOf, changeSettings } from '../../../src/shared/payments/settings.ts'
import { processDueOrder } from '../../../src/shared/payments/due-orders.ts'
import { dueTopUps, topUp } from '../../../src/shared/payments/top-ups.ts'
import { aResult, opened, verbs } from '../../shared/calls/opening.ts'
import { live, killableDb, killableProvider, unwatchLives } from './lives.ts'
import { openPayers } from './payers.ts'
import type { Payer } from './payers.ts'
import type { Act, Event, Move } from './moves.ts'

const SECRET = 'whsec_of_the_schedules'
const pack = { id: 'starter', currency: 'eur', amountMinor: 1000, credits: 1000, bonus: 50 }
const catalogue = { packs: [pack], topUp: null } as unknown as Catalogue
const TERMS = termsOf(catalogue, { pack: pack.id })
const log = createLog('silent', 'worker')

/** A schedule that is played: its accounts here and at Stripe, and what was done to them. */
export type ScheduleRun = {
  db: Db
  sandbox: Sandbox
  stripe: StripeAccount
  deps: PaymentDeps
  accounts: Payer[]
  calls: CallId[]
  tampered: Set<string>
  /** Whether the provider was told to fail. */
  faulty: boolean
  /** The events that its webhook was told of. */
  delivered: string[]
  /** What an operator, a customer or a bank wanted and could not have: for a failure's run. */
  history: string[]
}

/** Plays a schedule, then lets the sweep alone put everything right. */
export async function play(db: Db, sandbox: Sandbox, moves: readonly Move[]): Promise<ScheduleRun> {
  const run = await begin(db, sandbox)
  try {
    for (const move of moves) {
      run.history.push(JSON.stringify(move))
      if (move.do === 'together') await doTogether(run, move.acts)
      else await happen(run, move)
    }
    await heal(run)
    return run
  } catch (error) {
    throw withHistory(run, error)
  }
}

/** An error with everything that came before it. */
export function withHistory({ history }: ScheduleRun, error: unknown): Error {
  // Before the stack is read for the first time, which writes it.
  setSourceMapsEnabled(true)
  return new Error(`${(error as Error).stack}\nafter\n${history.join('\n')}`)
}

/**
 * What Stripe has of a kind, newest first. It is looked at in the sandbox, as what happens there is caused in it: a
 * request for that would cost as much as one of the gateway's.
 */
export const objectsOf = <K extends keyof Kinds>({ sandbox, stripe }: ScheduleRun, kind: K): readonly Kinds[K][] =>
  sandbox.stripeObjects(stripe.key, kind)

/** Causes something at Stripe. */
const cause = ({ sandbox, stripe }: ScheduleRun, name: ControlName, asked?: ControlRequest): unknown =>
  sandbox.stripeControl(stripe.key, name, asked)

async function begin(db: Db, sandbox: Sandbox): Promise<ScheduleRun> {
  const stripe = stripeAccountAt(sandbox.url)
  // It has no endpoint for its events: a schedule delivers them, or does not.
  const provider = providerOf({
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: stripe.key,
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_API_BASE: sandbox.url,
  })!
  const deps: PaymentDeps = {
    db: killableDb(db),
    log,
    provider: killableProvider(provider),
    baseUrl: 'http://tollgate.test',
    observer: { statusReached: () => {}, differenceFound: () => {}, eventHandled: () => {} },
    publishBalance: () => {},
  }
  const accounts = await openPayers(db, 2)
  return {
    db,
    sandbox,
    stripe,
    deps,
    accounts,
    calls: [],
    tampered: new Set(),
    faulty: false,
    delivered: [],
    history: [],
  }
}

const pick = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)]

/** The orders of a run, oldest first. */
const ordersOf = ({ db, accounts }: ScheduleRun): Promise<PaymentRow[]> =>
  db('payments')
    .whereIn(
      'account_id',
      accounts.map(({ id }) => id),
    )
    .orderBy('id')
    .select<PaymentRow[]>('*')

/** What is expected to go wrong: a provider that was told to, and wishes that cannot be had. */
function isExpected(error: unknown): boolean {
  return error instanceof ProviderUnavailable || error instanceof ProviderRefused || error instanceof ApiError
}

async function doTogether(run: ScheduleRun, acts: readonly Act[]): Promise<void> {
  await Promise.all(acts.map((act) => doAct(run, act)))
  unwatchLives()
}

async function doAct(run: ScheduleRun, act: Act): Promise<void> {
  const { history } = run
  try {
    const whole = await live(act.dies, () => process(run, act))
    if (!whole) history.push(`  ${act.do} was killed at ${act.dies}`)
  } catch (error) {
    if (!isExpected(error)) throw error
    history.push(`  ${act.do}: ${String(error)}`)
  }
}

async function process(run: ScheduleRun, act: Act): Promise<unknown> {
  const { deps, accounts, db } = run
  if (act.do === 'order') return order(run, act)
  if (act.do === 'deliver') return deliver(run, act.which)
  if (act.do === 'top up') return topUp(deps, catalogue, pick(accounts, act.auth)!.id)
  if (act.do === 'handle') {
    const due = db('payment_events').whereIn('id', run.delivered).whereNotNull('next_try_at').orderBy('created_at')
    const id = pick(await due.pluck<string[]>('id'), act.which)
    return id && handleEvent(deps, id)
  }
  return onOrder(run, act)
}

async function onOrder(
  run: ScheduleRun,
  act: Extract<Act, { do: 'return' | 'sweep' | 'cancel' | 'refund' }>,
): Promise<unknown> {
  const { deps } = run
  const row = pick(await ordersOf(run), act.which)
  if (!row) return undefined
  if (act.do === 'return') return checkOrder(deps, row.id)
  if (act.do === 'sweep') return processDueOrder(deps, row.id)
  if (act.do === 'cancel') return cancelOrder(deps, row.id)
  const amountMinor = act.share === 100 ? undefined : Math.floor((row.amount_minor * act.share) / 100)
  return refundPayment(deps, null, row.id, { amountMinor, force: act.force })
}

async function order({ deps, accounts, db }: ScheduleRun, { auth }: Extract<Act, { do: 'order' }>): Promise<void> {
  const account = pick(accounts, auth)!
  await startCheckout(deps, account.id, TERMS)
  // Once a card is kept, the balance is topped up by it.
  const wanted = { threshold: 500, pack: pack.id, monthlyCapMinor: 2 * pack.amountMinor }
  await changeSettings(db, account.id, { autoTopUp: wanted }, deps.provider.liveMode)
}

/** The webhook takes one of all events that Stripe ever had, again or for the first time. */
async function deliver(run: ScheduleRun, which: number): Promise<void> {
  const { stripe, deps, delivered } = run
  const all = objectsOf(run, 'event')
  const event = pick(
    all.filter(({ type }) => /^(checkout|charge|refund|payment_intent)\./.test(type)),
    which,
  )
  if (!event) return
  const payload = JSON.stringify(event, null, 2)
  const header = stripe.stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET })
  const { provider } = deps
  const hint = provider.verify(Buffer.from(payload), header)
  await storeEvent(deps.db, provider.name, hint)
  delivered.push(hint.id)
}

/** Does what the sandbox may refuse, and writes down that it did. */
async function attempt({ history }: ScheduleRun, what: () => Promise<unknown>): Promise<void> {
  await what().catch((error: unknown) => void history.push(`  ${String(error).slice(0, 200)}`))
}

async function happen(run: ScheduleRun, event: Event): Promise<void> {
  const { db, accounts, calls } = run
  if (event.do === 'fault') {
    run.faulty = true
    return void cause(run, 'POST /stripe/control/faults', {
      fields: { at: '*', fault: event.fault, times: event.times },
    })
  }
  if (event.do === 'call')
    return attempt(run, async () => void calls.push(await opened(verbs(db), pick(accounts, event.auth)!, event.amount)))
  if (event.do === 'call ends') return endCall(run, event)
  if (event.do === 'delete customer') return attempt(run, () => deleteCustomer(run, event.auth))
  const listed = <K extends keyof Kinds>(kind: K): Kinds[K] | undefined =>
    pick(objectsOf(run, kind).toReversed(), event.which)
  await attempt(run, async () => {
    if (event.do === 'dispute goes') {
      const dispute = listed('dispute')
      return dispute && cause(run, 'POST /stripe/control/disputes/:id', { id: dispute.id, fields: { to: event.to } })
    }
    if (event.do === 'refund fails') {
      const refund = listed('refund')
      return refund && cause(run, 'POST /stripe/control/refunds/:id', { id: refund.id, fields: { status: 'failed' } })
    }
    if (event.do === 'refund at Stripe' || event.do === 'dispute') {
      const charge = listed('charge')
      return charge && onCharge(run, charge, event)
    }
    const session = listed('checkout.session')
    return session && onSession(run, session, event)
  })
}

function onCharge(run: ScheduleRun, { id, amount }: Stripe.Charge, event: Extract<Event, { share: number }>): unknown {
  const part = Math.floor((amount * event.share) / 100)
  if (event.do === 'dispute')
    return cause(run, 'POST /stripe/control/charges/:id/dispute', { id, fields: { amount: part } })
  return run.stripe.stripe.refunds.create({ charge: id, amount: part })
}

function onSession(
  run: ScheduleRun,
  session: Stripe.Checkout.Session,
  event: Extract<Event, { do: 'pay' | 'bank' | 'expire' | 'tamper' }>,
): unknown {
  const { id } = session
  if (event.do === 'pay')
    return cause(run, 'POST /stripe/control/sessions/:id/pay', { id, fields: { way: event.way, keep: true } })
  if (event.do === 'bank')
    return cause(run, 'POST /stripe/control/sessions/:id/settle', { id, fields: { paid: event.paid } })
  if (event.do === 'expire') return run.stripe.stripe.checkout.sessions.expire(id)
  if (session.status !== 'open') return undefined
  run.tampered.add(session.client_reference_id!)
  const amount = session.amount_total! - 1
  // A declined try has left an intent, whose amount is what is paid.
  const intent = session.payment_intent
  if (typeof intent === 'string') cause(run, 'POST /stripe/control/objects/:id', { id: intent, fields: { amount } })
  return cause(run, 'POST /stripe/control/objects/:id', { id, fields: { amount_total: amount } })
}

/** Somebody deletes the customer of an account in the provider's dashboard. */
async function deleteCustomer({ db, stripe, accounts }: ScheduleRun, auth: number): Promise<void> {
  const { customer } = await billingOf(db, pick(accounts, auth)!.id, null)
  if (customer !== null) await stripe.stripe.customers.del(customer)
}

async function endCall(
  { db, calls }: ScheduleRun,
  { which, cost }: Extract<Event, { do: 'call ends' }>,
): Promise<void> {
  const id = pick(calls, which)
  if (!id) return
  calls.splice(calls.indexOf(id), 1)
  if (cost === null) await verbs(db).refund(id, gatewayError('upstream_failed'))
  else await verbs(db).settle(id, 'image', aResult(cost))
}

/** Passes of the sweep after which an order that still changes is a failure. */
const MAX_PASSES = 6

/** Every event is lost from now on, and nobody comes back: the sweep alone finds how each order stands. */
async function heal(run: ScheduleRun): Promise<void> {
  const { deps, db } = run
  if (run.faulty) cause(run, 'DELETE /stripe/control/faults')
  const due = new Set(await dueTopUps(db, 1000))
  for (const { id } of run.accounts) if (due.has(id)) await topUp(deps, catalogue, id)
  const orders = await sweep(run, await ordersOf(run))
  // Stripe repeats an answer of 500 for as long as it knows the id of a refund: after a day it is no more asked for.
  const unanswered = await db('payment_refunds')
    .where({ status: 'asked' })
    .whereIn(
      'payment_id',
      orders.map(({ id }) => id),
    )
    .update({ created_at: db.raw("now() - interval '1 day'") })
    .returning<{ payment_id: string }[]>('payment_id')
  const theirs = new Set(unanswered.map(({ payment_id: id }) => id))
  await sweep(
    run,
    orders.filter(({ id }) => theirs.has(id)),
  )
}

/** Attends orders, and again those that changed, until none does. @returns all orders of the run afterwards. */
async function sweep(run: ScheduleRun, orders: PaymentRow[]): Promise<PaymentRow[]> {
  let all = orders
  for (let passes = 0; orders.length > 0; passes++) {
    if (passes === MAX_PASSES) throw new Error(`orders change at every sweep: ${JSON.stringify(orders)}`)
    for (const { id } of orders) await processDueOrder(run.deps, id)
    const before = new Map(orders.map(({ id, version }) => [id, version]))
    all = await ordersOf(run)
    orders = all.filter(({ id, version }) => before.has(id) && before.get(id) !== version)
  }
  return all
}
