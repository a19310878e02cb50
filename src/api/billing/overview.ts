/**
 * GET /api/billing, PUT /api/billing/settings, DELETE /api/billing/card: what an account can buy, and how it pays.
 */
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import { termsOf } from '../../shared/payments/checkout.ts'
import type { AutoTopUp } from '../../shared/payments/settings.ts'
import { dropCard } from '../../shared/payments/customers.ts'
import { billingOf, changeSettings, presentCard, presentTopUpFailure } from '../../shared/payments/settings.ts'
import { done, ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { creditAmount } from '../endpoint/fields.ts'
import { manager } from '../endpoint/auth.ts'
import { billing, sells, settings } from './answers.ts'

type Deps = Pick<WebDeps, 'db' | 'catalogue' | 'payments'>

const declared = { tag: 'Billing', auth: manager, offered: sells } as const

/** Shows what can be bought, and the account's settings and card. */
export const showBilling = endpoint({
  ...declared,
  method: 'get',
  path: '/api/billing',
  summary: 'Show what can be bought, and how',
  answers: { 200: { description: 'The packs, the settings and the card.', schema: billing } },
}).handle(({ db, catalogue, payments }: Deps) => async ({ auth }) => {
  const { packs, topUp } = catalogue.current()
  const { name: provider, liveMode } = payments!.provider
  const { settings: set, debt, card, topUpFailure } = await billingOf(db, auth.accountId, liveMode)
  return {
    ok: true,
    provider,
    packs: [...packs],
    topUp,
    debt,
    settings: set,
    card: presentCard(card),
    ...(topUpFailure && { topUpFailure: presentTopUpFailure(topUpFailure) }),
  }
})

const threshold = creditAmount.meta({ description: 'Credits.' })

const autoTopUp = z
  .object({
    threshold,
    pack: z.string().optional().meta({ description: 'The `id` of a pack.' }),
    amountMinor: z.number().optional().meta({ description: 'An amount instead of a pack.' }),
    monthlyCapMinor: z
      .int({ error: 'must be a whole number' })
      .min(1, 'must be at least 1')
      .max(1_000_000_000_000, 'must be at most 1,000,000,000,000')
      .meta({ description: 'The most to pay per calendar month (UTC).' }),
  })
  .transform(({ pack, amountMinor, ...rest }, context): AutoTopUp => {
    if (pack !== undefined && amountMinor === undefined) return { ...rest, pack }
    if (amountMinor !== undefined && pack === undefined) return { ...rest, amountMinor }
    context.addIssue({ code: 'custom', message: 'must have either pack or amountMinor' })
    return z.NEVER
  })

/** Sets the low balance mail and automatic top-up. */
export const changeBilling = endpoint({
  ...declared,
  method: 'put',
  path: '/api/billing/settings',
  summary: 'Set the low balance mail and automatic top-up',
  description: 'null turns a setting off; one that is absent stays as it is. Automatic top-up needs a saved card.',
  body: z
    .object({ lowBalance: z.object({ threshold }).nullable().optional(), autoTopUp: autoTopUp.nullable().optional() })
    .meta({ id: 'BillingSettingsRequest' }),
  answers: { 200: { description: 'The settings.', schema: z.strictObject({ ok, settings }) } },
  errors: ['invalid_request', 'invalid_amount', 'no_card'],
}).handle(({ db, catalogue, payments }: Deps) => async ({ auth: { accountId }, body }) => {
  const { liveMode } = payments!.provider
  if (body.autoTopUp) termsOf(catalogue.current(), body.autoTopUp)
  if (!(await changeSettings(db, accountId, body, liveMode))) throw new ApiError('no_card')
  return { ok: true, settings: (await billingOf(db, accountId, liveMode)).settings }
})

/** Removes the card, and turns automatic top-up off. */
export const forgetCard = endpoint({
  ...declared,
  method: 'delete',
  path: '/api/billing/card',
  summary: 'Remove the card',
  description: 'Turns automatic top-up off, too.',
  answers: { 200: { description: 'No card is saved any more.', schema: done } },
}).handle(({ db, payments }: Pick<WebDeps, 'db' | 'payments'>) => async ({ auth }) => {
  await dropCard(db, payments!.provider.name, auth.accountId)
  return { ok: true }
})
