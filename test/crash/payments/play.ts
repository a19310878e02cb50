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
import { openPayer } from './payers.ts'
import type { Payer } from './payers.ts'
import type { Act, Event, Move } from './moves.ts'
import { pick, withHistory } from '../simulator.ts'
import type { Makers, Played } from '../simulator.ts'

const SECRET = 'whsec_of_the_schedules'
const pack = { id: 'starter', currency: 'eur', amountMinor: 1000, credits: 1000, bonus: 50 }
const catalogue = { packs: [pack], topUp: null } as unknown as Catalogue
const TERMS = termsOf(catalogue, { pack: pack.id })
const log = createLog('silent', 'worker')

/** A schedule that is played: its accounts here and at Stripe, and what was done to them. */
export type ScheduleRun = Played & {
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
}

/** Plays a schedule, then lets the sweep alone put everything right. */
export async function play(db: Db, sandbox: Sandbox, name: string, moves: readonly Move[]): Promise<ScheduleRun> {
  const run: ScheduleRun = { name, history: [], ...(await begin(db, sandbox)) }
  try {
    for (const move of moves) {
      run.history.push(JSON.stringify(move))
      if (move.do === 'together') await doTogether(run, move.acts)
      else await HAPPEN[move.do](run, move as never)
    }
    await heal(run)
    return run
  } catch (error) {
    throw withHistory(run, error)
  }
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

async function begin(db: Db, sandbox: Sandbox): Promise<Omit<ScheduleRun, keyof Played>> {
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
  const accounts = await Promise.all([openPayer(db), openPayer(db)])
  return { db, sandbox, stripe, deps, accounts, calls: [], tampered: new Set(), faulty: false, delivered: [] }
}

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
    const whole = await live(act.dies, async () => await PROCESS[act.do](run, act as never))
    if (!whole) history.push(`  ${act.do} was killed at ${act.dies}`)
  } catch (error) {
    if (!isExpected(error)) throw error
    history.push(`  ${act.do}: ${String(error)}`)
  }
}

/** What a process does to the order that an act picks, if there is one. */
const toOrder =
  <A extends Act>(what: (deps: PaymentDeps, row: PaymentRow, act: A) => Promise<unknown>) =>
  async (run: ScheduleRun, act: A): Promise<unknown> => {
    const row = pick(await ordersOf(run), act.which)
    return row && (await what(run.deps, row, act))
  }

/** What a process does at each act. */
const PROCESS: Makers<Act, ScheduleRun> = {
  order,
  deliver,
  handle: async ({ db, deps, delivered }, { which }) => {
    const due = db('payment_events').whereIn('id', delivered).whereNotNull('next_try_at').orderBy('created_at')
    const id = pick(await due.pluck<string[]>('id'), which)
    return id && (await handleEvent(deps, id))
  },
  return: toOrder((deps, { id }) => checkOrder(deps, id)),
  sweep: toOrder((deps, { id }) => processDueOrder(deps, id)),
  cancel: toOrder((deps, { id }) => cancelOrder(deps, id)),
  refund: toOrder((deps, { id, amount_minor }, { share, force }: Extract<Act, { do: 'refund' }>) => {
    const amountMinor = share === 100 ? undefined : Math.floor((amount_minor * share) / 100)
    return refundPayment(deps, null, id, { amountMinor, force })
  }),
  'top up': ({ deps, accounts }, { auth }) => topUp(deps, catalogue, pick(accounts, auth)!.id),
}

async function order({ deps, accounts, db }: ScheduleRun, { auth }: { auth: number }): Promise<void> {
  const account = pick(accounts, auth)!
  await startCheckout(deps, account.id, TERMS)
  // Once a card is kept, the balance is topped up by it.
  const wanted = { threshold: 500, pack: pack.id, monthlyCapMinor: 2 * pack.amountMinor }
  await changeSettings(db, account.id, { autoTopUp: wanted }, deps.provider.liveMode)
}

/** The webhook takes one of all events that Stripe ever had, again or for the first time. */
async function deliver(run: ScheduleRun, { which }: Act): Promise<void> {
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

/** Has something happen at Stripe to the object of a kind that an event picks, oldest first, if there is one. */
const atStripe =
  <K extends keyof Kinds, E extends { which: number }>(
    kind: K,
    what: (run: ScheduleRun, object: Kinds[K], event: E) => unknown,
  ) =>
  (run: ScheduleRun, event: E): Promise<void> =>
    attempt(run, async () => {
      const object = pick(objectsOf(run, kind).toReversed(), event.which)
      if (object) await what(run, object, event)
    })

/** A part of an amount, in percent. */
const partOf = (amount: number, { share }: { share: number }): number => Math.floor((amount * share) / 100)

/** How everything happens that is no process's. */
const HAPPEN: Makers<Event, ScheduleRun> = {
  pay: atStripe('checkout.session', (run, { id }, { way }) =>
    cause(run, 'POST /stripe/control/sessions/:id/pay', { id, fields: { way, keep: true } }),
  ),
  bank: atStripe('checkout.session', (run, { id }, { paid }) =>
    cause(run, 'POST /stripe/control/sessions/:id/settle', { id, fields: { paid } }),
  ),
  expire: atStripe('checkout.session', (run, { id }) => run.stripe.stripe.checkout.sessions.expire(id)),
  tamper: atStripe('checkout.session', tamper),
  'refund at Stripe': atStripe('charge', (run, { id, amount }, event) =>
    run.stripe.stripe.refunds.create({ charge: id, amount: partOf(amount, event) }),
  ),
  dispute: atStripe('charge', (run, { id, amount }, event) =>
    cause(run, 'POST /stripe/control/charges/:id/dispute', { id, fields: { amount: partOf(amount, event) } }),
  ),
  'dispute goes': atStripe('dispute', (run, { id }, { to }) =>
    cause(run, 'POST /stripe/control/disputes/:id', { id, fields: { to } }),
  ),
  'refund fails': atStripe('refund', (run, { id }) =>
    cause(run, 'POST /stripe/control/refunds/:id', { id, fields: { status: 'failed' } }),
  ),
  fault: (run, { fault, times }) => {
    run.faulty = true
    cause(run, 'POST /stripe/control/faults', { fields: { at: '*', fault, times } })
  },
  call: (run, { auth, amount }) =>
    attempt(run, async () => run.calls.push(await opened(verbs(run.db), pick(run.accounts, auth)!, amount))),
  'call ends': endCall,
  'delete customer': (run, { auth }) => attempt(run, () => deleteCustomer(run, auth)),
}

/** Somebody changes the amount of an open checkout. */
function tamper(run: ScheduleRun, session: Stripe.Checkout.Session): void {
  if (session.status !== 'open') return
  run.tampered.add(session.client_reference_id!)
  const amount = session.amount_total! - 1
  // A declined try has left an intent, whose amount is what is paid.
  const intent = session.payment_intent
  if (typeof intent === 'string') cause(run, 'POST /stripe/control/objects/:id', { id: intent, fields: { amount } })
  cause(run, 'POST /stripe/control/objects/:id', { id: session.id, fields: { amount_total: amount } })
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
