/**
 * Schemas of answers about payments.
 */
import { z } from 'zod'
import type { Config } from '../../shared/platform/config/config.ts'
import { PAYMENT_KINDS, PAYMENT_STATUSES } from '../../shared/payments/orders.ts'
import { credits, entry, id, ok, time } from '../endpoint/answer-schemas.ts'

/** Whether a provider takes payments: without one these endpoints do not exist. */
export const sells = ({ PAYMENTS }: Config): boolean => PAYMENTS !== undefined

const minor = z.int().meta({ description: "In the currency's minor unit." })
const currency = z.string().meta({ description: 'ISO 4217, lower case.' })

/** An order. */
export const payment = z
  .strictObject({
    id: id('pay'),
    kind: z.enum(PAYMENT_KINDS),
    status: z.enum(PAYMENT_STATUSES).meta({
      description: '`review`: the payment differs from the order, and an operator has to decide.',
    }),
    currency,
    amountMinor: minor,
    credits,
    bonus: credits,
    reversed: z.int().meta({ description: 'Credits that refunds and disputes took back or turned into debt.' }),
    receiptUrl: z.string().nullable(),
    payable: z.strictObject({ url: z.string() }).nullable().meta({
      description: 'Nothing was paid yet, and this is the page to do it; null once it was, or is on its way.',
    }),
    createdAt: time,
    paidAt: time.nullable(),
  })
  .meta({ id: 'Payment' })

/** A payment. */
export const paymentAnswer = z.strictObject({ ok, payment })

/** A payment with its ledger entries. */
export const paymentWithLedger = paymentAnswer.extend({ ledger: z.array(entry) })

const pack = z
  .strictObject({ id: z.string(), currency, amountMinor: minor, credits, bonus: credits })
  .meta({ id: 'Pack' })

const topUp = z
  .strictObject({ currency, minMinor: minor, maxMinor: minor, creditsPer: credits, perMinor: minor })
  .meta({
    id: 'TopUp',
    description: "Amounts of the customer's choice: `creditsPer` credits for `perMinor` of the minor unit.",
  })

/** What is set for low balances and automatic top-ups. */
export const settings = z
  .strictObject({
    lowBalance: z.strictObject({ threshold: credits }).nullable(),
    autoTopUp: z
      .strictObject({
        threshold: credits,
        pack: z.string().optional(),
        amountMinor: minor.optional(),
        monthlyCapMinor: minor,
      })
      .nullable(),
  })
  .meta({ id: 'BillingSettings' })

/** What can be bought, and what is set. */
export const billing = z.strictObject({
  ok,
  provider: z.enum(['stripe']),
  packs: z.array(pack),
  topUp: topUp.nullable(),
  debt: credits,
  settings,
  card: z
    .strictObject({ brand: z.string(), last4: z.string(), expMonth: z.int(), expYear: z.int() })
    .nullable()
    .meta({ description: 'The card that was saved at a checkout.' }),
  topUpFailure: z.strictObject({ reason: z.string(), at: time, retryAt: time.nullable() }).optional().meta({
    description:
      'Why the last automatic top-up failed, in words, and when it is tried again; absent where it did not fail.',
  }),
})
