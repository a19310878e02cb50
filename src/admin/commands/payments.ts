/** payment list · show · sync · refund · resolve */
import { readPaymentsConfig } from '../../shared/platform/config/config.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { PaymentId } from '../../shared/platform/ids.ts'
import { parseId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { createLog } from '../../shared/platform/process/log.ts'
import { entriesOfPayment } from '../../shared/ledger/ledger.ts'
import type { PaymentDeps } from '../../shared/payments/deps.ts'
import { providerOf } from '../../shared/payments/deps.ts'
import { resolveReview } from '../../shared/payments/ending.ts'
import { checkOrder } from '../../shared/payments/check.ts'
import type { OperatedPayment, PaymentStatus } from '../../shared/payments/orders.ts'
import {
  PAYMENT_STATUSES,
  findOperatedPayment,
  presentOperatedPayment,
  searchPayments,
} from '../../shared/payments/orders.ts'
import { ProviderUnavailable, ProviderRefused } from '../../shared/payments/provider.ts'
import { reconcile } from '../../shared/payments/reconcile.ts'
import { presentRefund, refundsOf } from '../../shared/payments/refund-rows.ts'
import { refundPayment } from '../../shared/payments/refunds.ts'
import type { Command, Options } from '../command.ts'
import { CommandError, idOf } from '../command.ts'
import { momentOf, rowOf, wholeNumberOf } from '../fields.ts'

/** The most payments that are listed. */
const LISTED = 200

function paymentDeps(db: Db): PaymentDeps {
  const deps = findPaymentDeps(db)
  if (!deps) throw new CommandError('PAYMENTS is not set: there is no payment provider.')
  return deps
}

/**
 * The dependencies of a command; null without PAYMENTS. It is not measured, and publishes nothing: open pages reload by
 * themselves.
 */
export function findPaymentDeps(db: Db): PaymentDeps | null {
  const provider = providerOf(readPaymentsConfig())
  if (!provider) return null
  const observer = { statusReached: () => {}, differenceFound: () => {}, eventHandled: () => {} }
  return { db, provider, observer, baseUrl: '', log: createLog('silent', 'admin'), publishBalance: () => {} }
}

/** Turns errors that an operator can act on into sentences. */
async function orCommandError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError || error instanceof ProviderRefused) throw new CommandError(error.message)
    if (error instanceof ProviderUnavailable)
      throw new CommandError('The payment provider does not answer. Try again later.')
    throw error
  }
}

async function shown(db: Db, id: PaymentId) {
  const row = await findOperatedPayment(db, id)
  if (!row) throw new CommandError('There is no such payment.')
  const [ledger, refunds] = await Promise.all([entriesOfPayment(db, row.account_id, id), refundsOf(db, id)])
  const json = { payment: presentOperatedPayment(row), ledger, refunds: refunds.map(presentRefund) }
  return { json, text: JSON.stringify(json, null, 2) }
}

const describe = (payment: OperatedPayment): string =>
  rowOf(
    payment.id,
    payment.createdAt,
    payment.status,
    `${payment.amountMinor} ${payment.currency} (minor)`,
    `${payment.credits + payment.bonus} credits`,
    payment.accountEmail,
    payment.reviewReason ?? '',
  )

/** Shows payments, and refunds them. */
export const paymentCommands: Command[] = [
  {
    usage: 'payment list [--search …] [--status …]',
    summary: `List the newest ${LISTED} payments; --search by address or id, --status by status.`,
    options: ['search', 'status'],
    run: async (db, _args, { search = '', status }) => {
      if (status !== undefined && !PAYMENT_STATUSES.includes(status as PaymentStatus))
        throw new CommandError(`--status must be one of ${PAYMENT_STATUSES.join(', ')}.`)
      const wanted = {
        search,
        status: status as PaymentStatus | undefined,
        id: parseId('payment', search) ?? undefined,
      }
      const payments = (await searchPayments(db, wanted, LISTED, null)).rows.map(presentOperatedPayment)
      return {
        json: { payments },
        text: payments.length === 0 ? 'No payments found.' : payments.map(describe).join('\n'),
      }
    },
  },
  {
    usage: 'payment show <id>',
    summary: 'Show a payment, what it moved, and its refunds.',
    run: async (db, [id]) => shown(db, idOf('payment', id)),
  },
  {
    usage: 'payment sync [id] [--from <ISO> --to <ISO>]',
    summary:
      "Bring a payment up to date; with --from and --to, every payment in the provider's own list, and report what " +
      'is in only one of the two lists.',
    options: ['from', 'to'],
    run: async (db, [id], options) => {
      const hasDates = options.from !== undefined || options.to !== undefined
      if ((id === undefined) !== hasDates)
        throw new CommandError('Give either the id of a payment, or --from and --to.')
      if (id === undefined) return reconcileAll(db, options)
      await orCommandError(() => checkOrder(paymentDeps(db), idOf('payment', id)))
      return shown(db, idOf('payment', id))
    },
  },
  {
    usage: 'payment refund <id> [--amount <minor>] [--force]',
    summary: 'Refund a payment, or part of it. With --force even if its credits are spent: they become debt.',
    options: ['amount'],
    flags: ['force'],
    run: async (db, [text], { amount, force }) => {
      const id = idOf('payment', text)
      const bounds: [number, number] = [1, Number.MAX_SAFE_INTEGER]
      const amountMinor =
        amount === undefined ? undefined : wholeNumberOf('--amount', amount, bounds, 'the minor unit (cents)')
      await orCommandError(() => refundPayment(paymentDeps(db), null, id, { amountMinor, force: force !== undefined }))
      return shown(db, id)
    },
  },
  {
    usage: 'payment resolve <id> --grant | --dismiss',
    summary: 'End the review of a payment: --grant grants its credits, --dismiss does not.',
    flags: ['grant', 'dismiss'],
    run: async (db, [text], { grant, dismiss }) => {
      if ((grant === undefined) === (dismiss === undefined)) throw new CommandError('Give either --grant or --dismiss.')
      const id = idOf('payment', text)
      await orCommandError(() => resolveReview(db, null, id, grant === undefined ? 'dismiss' : 'grant'))
      return shown(db, id)
    },
  },
]

async function reconcileAll(db: Db, { from, to }: Options) {
  if (from === undefined || to === undefined) throw new CommandError('Give both --from and --to.')
  const [first, last] = [momentOf('--from', from), momentOf('--to', to)]
  if (first >= last) throw new CommandError('--from must be before --to.')
  const report = await orCommandError(() => reconcile(paymentDeps(db), first, last))
  const { checked, changed, missing, unknown } = report
  const lines = [
    `Checked ${checked} payments; ${changed} changed.`,
    ...missing.map((id) => `Paid here, but not in the provider's list: ${id}`),
    ...unknown.map(
      ({ reference, names }) => `Paid at the provider, but unknown here: ${reference} (${names ?? 'names no order'})`,
    ),
  ]
  const apart = missing.length + unknown.length
  return {
    json: { ...report },
    text: lines.join('\n'),
    ...(apart > 0 && {
      complaint: `The provider and the books differ in ${apart} ${apart === 1 ? 'payment' : 'payments'}.`,
    }),
  }
}
