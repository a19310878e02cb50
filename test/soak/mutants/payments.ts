import { PAYMENTS, PAYMENT_SCHEDULES } from './killing-tests.ts'
import type { Mutant } from './mutant.ts'

/** Bugs in what is credited for money, and in what is taken back. */
export const OF_PAYMENTS: readonly Mutant[] = [
  {
    name: 'an event is believed',
    why: 'An event is a hint: what it says may be forged, old, or half of the truth. The provider decides.',
    edits: [
      {
        file: 'src/shared/payments/check.ts',
        find: '    const row = await checkOrder(deps, id, id === named?.id ? hint.session : null)\n',
        replace: `    if (hint.type === 'checkout.session.completed') {
      const order = (await findPayment(db, id))!
      const { currency, amount_minor: amountMinor, customer, session, intent } = order
      const money = { currency, amountMinor, customer, session, intent, liveMode: order.live_mode, names: hint.names }
      const nothing = { expiresAt: null, page: null, receiptUrl: null, failure: null, card: null }
      const rest = { ...nothing, refunds: [], disputedMinor: 0 }
      await applyAndPublish(deps, order, { state: 'paid', ...money, ...rest })
    }
    const row = await checkOrder(deps, id, id === named?.id ? hint.session : null)
`,
      },
    ],
    tests: [PAYMENT_SCHEDULES],
  },
  {
    name: 'a complete checkout counts as paid',
    why: 'Some ways to pay take days: their checkout is complete, and unpaid.',
    edits: [
      {
        file: 'src/shared/payments/stripe/reading.ts',
        find: "  if (paid === 'paid') return 'paid'\n",
        replace: "  if (paid === 'paid' || status === 'complete') return 'paid'\n",
      },
    ],
    tests: [PAYMENT_SCHEDULES],
  },
  {
    name: 'a payment is credited by everybody who finds it paid',
    why: 'The event, the sweep and the page that people come back to look at once: one of them grants.',
    edits: [
      {
        file: 'src/shared/payments/apply.ts',
        find: '    const current = await lockPayment(trx, row.id)\n',
        replace: '    const current = row\n',
      },
      {
        file: 'migrations/006_ledger.ts',
        find: 'CREATE UNIQUE INDEX grants_once_per_payment',
        replace: 'CREATE INDEX grants_once_per_payment',
      },
      {
        file: 'sql/check_payment.sql',
        find: "<> CASE p.status WHEN 'paid' THEN p.credits",
        replace: "< CASE p.status WHEN 'paid' THEN p.credits",
      },
      {
        file: 'sql/check_payment.sql',
        find: "<> CASE p.status WHEN 'paid' THEN p.bonus",
        replace: "< CASE p.status WHEN 'paid' THEN p.bonus",
      },
    ],
    tests: [PAYMENTS, PAYMENT_SCHEDULES],
  },
  {
    name: 'a dispute takes credits when it is opened',
    why: 'Credits follow the money: an inquiry moves none, and a dispute only when its funds are withdrawn.',
    edits: [
      {
        file: 'src/shared/payments/stripe/reading.ts',
        find: "if (!moves || moves.length === 0) return status === 'lost'",
        replace: "if (!moves || moves.length === 0) return status !== 'won'",
      },
    ],
    tests: [PAYMENTS, PAYMENT_SCHEDULES],
  },
  {
    name: 'money goes back before its credits are taken',
    why: 'Credits that are spent between the two would be paid back: they are taken first.',
    edits: [
      {
        file: 'src/shared/payments/refunds.ts',
        find: '  const { refundId, balance } = await takeCredits(deps, operator, found, request)\n',
        replace: `  const early = { id: newId('refund'), amountMinor: request.amountMinor ?? found.amount_minor }
  await deps.provider.refund(orderOf(found), early)
  const { refundId, balance } = await takeCredits(deps, operator, found, request)
`,
      },
    ],
    tests: [PAYMENTS],
  },
  {
    name: 'what a call gives back to a reversed grant can be spent',
    why: 'The money of that grant went back: what returns to it repays the debt in the same transaction.',
    edits: [
      {
        file: 'sql/end_calls.sql',
        find: 'IF owing IS NOT NULL THEN PERFORM',
        replace: "IF owing IS NOT NULL AND 'refund' <> ALL (ARRAY(SELECT e.kind FROM unnest(entries) e)) THEN PERFORM",
      },
    ],
    tests: [PAYMENTS, PAYMENT_SCHEDULES],
  },
]
