/**
 * POST /api/billing/checkout and /api/billing/redeem: getting credits.
 */
import { z } from 'zod'
import { redeemCode } from '../../shared/payments/codes.ts'
import { createMailboxes } from '../../shared/mail/mailboxes.ts'
import { startCheckout, termsOf } from '../../shared/payments/checkout.ts'
import type { Wanted } from '../../shared/payments/checkout.ts'
import { presentPayment } from '../../shared/payments/orders.ts'
import { credits, ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { manager } from '../endpoint/auth.ts'
import { paymentAnswer, sells } from './answers.ts'

const wanted = z
  .object({
    pack: z.string({ error: 'must be the id of a pack' }).optional().meta({ description: 'The `id` of a pack.' }),
    amountMinor: z
      .unknown()
      .optional()
      .meta({
        description: "An amount instead of a pack, in the currency's minor unit.",
        override: { type: 'integer' },
      }),
  })
  .transform(({ pack, amountMinor }, context): Wanted => {
    if (pack !== undefined && amountMinor === undefined) return { pack }
    // Not checked here: anything that is not a payable amount is `invalid_amount`.
    if (amountMinor !== undefined && pack === undefined) return { amountMinor: amountMinor as number }
    context.addIssue({ code: 'custom', message: 'must have either pack or amountMinor' })
    return z.NEVER
  })
  .meta({ id: 'CheckoutRequest' })

/** Places an order, and answers with the page on which it is paid. */
export const beginCheckout = endpoint({
  method: 'post',
  path: '/api/billing/checkout',
  tag: 'Billing',
  summary: 'Buy credits',
  description: 'Answers with the address of the checkout page.',
  auth: manager,
  offered: sells,
  limits: [{ limit: 'checkouts', per: 'account' }],
  body: wanted,
  answers: {
    200: {
      description: 'The order, and the page on which it is paid.',
      schema: paymentAnswer.extend({ url: z.string() }),
    },
  },
  errors: ['invalid_request', 'invalid_amount', 'payments_unavailable'],
}).handle(({ catalogue, payments }: Pick<WebDeps, 'catalogue' | 'payments'>) => async ({ auth, body }) => {
  const { row, url } = await startCheckout(payments!, auth.accountId, termsOf(catalogue.current(), body))
  return { ok: true, payment: presentPayment(row), url }
})

/** Redeems a code. */
export const redeem = endpoint({
  method: 'post',
  path: '/api/billing/redeem',
  tag: 'Billing',
  summary: 'Redeem a code',
  description: 'Once for each mailbox, whatever accounts it had before.',
  auth: manager,
  limits: [{ limit: 'redemptions', per: 'user' }],
  body: z
    .object({
      code: z
        .string({ error: 'must be a string' })
        .min(1, 'must not be empty')
        .max(100, 'must be at most 100 characters'),
    })
    .meta({ id: 'RedeemRequest' }),
  answers: {
    200: {
      description: 'The credits of the code were granted.',
      schema: z.strictObject({ ok, credits, balance: credits }),
    },
  },
  errors: ['invalid_request', 'invalid_code', 'code_used', 'forbidden'],
}).handle(({ config, db, replies }: Pick<WebDeps, 'config' | 'db' | 'replies'>) => {
  const mailboxes = createMailboxes(config)
  return async ({ auth, body }) => {
    const redeemed = await redeemCode(db, mailboxes, auth, body.code)
    replies.publishEvent(auth.accountId, { callId: null, balance: redeemed.balance })
    return { ok: true, ...redeemed }
  }
})
