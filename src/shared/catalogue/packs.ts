/**
 * The part of the catalogue that is about selling credits: packs at a fixed price, and free amounts
 * (docs/money.md#payments).
 */
import { z } from 'zod'
import { MAX_GRANT_CREDITS } from '../ledger/ledger.ts'
import { stepOf } from '../terms/currencies.ts'
import { onceValid } from './price-schema.ts'

const currency = z.string().regex(/^[a-z]{3}$/, 'a currency in three lower-case letters')
const amountMinor = z.int().min(1).max(99_999_999)
const someCredits = z.int().min(1).max(MAX_GRANT_CREDITS)

/** Checks that the provider takes these amounts of a currency at all. */
const payable =
  <Field extends string>(...fields: Field[]) =>
  (value: { currency: string } & Record<Field, number>, context: z.RefinementCtx): void => {
    const step = stepOf(value.currency)
    for (const field of fields.filter((one) => value[one] % step !== 0)) {
      const message = `must be a multiple of ${step} in ${value.currency}: the payment provider takes no others`
      context.addIssue({ code: 'custom', path: [field], message })
    }
  }

const packSchema = z
  .strictObject({
    id: z.string().min(1).max(200),
    currency,
    amountMinor,
    credits: someCredits,
    bonus: z.int().min(0).max(MAX_GRANT_CREDITS).default(0),
  })
  .superRefine(payable('amountMinor'))

/** Credits that are sold at a fixed price, in the minor unit of its currency. */
export type Pack = z.infer<typeof packSchema>

/** The packs of a catalogue. */
export const packsSchema = z
  .array(packSchema)
  .max(50)
  .refine((packs) => new Set(packs.map(({ id }) => id)).size === packs.length, 'two packs have the same id')
  .default([])

const rate = { creditsPer: someCredits, perMinor: amountMinor }

/** `creditsPer` credits for `perMinor` of the minor unit. */
type Rate = { creditsPer: number; perMinor: number }

/** What a free amount buys: `floor(amountMinor × creditsPer / perMinor)`, exactly. */
export const creditsFor = ({ creditsPer, perMinor }: Rate, minor: number): number =>
  Number((BigInt(minor) * BigInt(creditsPer)) / BigInt(perMinor))

/** What credits cost: `creditsPer` of them `perMinor` of the minor unit of a currency. */
export type CreditRate = Rate & { currency: string }

/** What credits are sold at, for orientation: the rate of free amounts, else of the smallest pack without its bonus. */
export function rateOf({ packs, topUp }: { packs: readonly Pack[]; topUp: TopUp | null }): CreditRate | null {
  if (topUp) return { currency: topUp.currency, creditsPer: topUp.creditsPer, perMinor: topUp.perMinor }
  const [smallest] = packs.toSorted((a, b) => a.credits - b.credits)
  return smallest ? { currency: smallest.currency, creditsPer: smallest.credits, perMinor: smallest.amountMinor } : null
}

/** How free amounts are sold: at which rate, and between which bounds. */
export const topUpSchema = z
  .strictObject({ currency, minMinor: amountMinor, maxMinor: amountMinor, ...rate })
  .refine(({ minMinor, maxMinor }) => minMinor <= maxMinor, {
    ...onceValid('minMinor', 'maxMinor'),
    path: ['maxMinor'],
    message: 'must be at least minMinor',
  })
  .refine((topUp) => creditsFor(topUp, topUp.minMinor) >= 1, {
    ...onceValid('minMinor', 'creditsPer', 'perMinor'),
    path: ['minMinor'],
    message: 'must buy at least one credit',
  })
  .refine((topUp) => creditsFor(topUp, topUp.maxMinor) <= MAX_GRANT_CREDITS, {
    ...onceValid('maxMinor', 'creditsPer', 'perMinor'),
    path: ['maxMinor'],
    message: `must buy at most ${MAX_GRANT_CREDITS} credits`,
  })
  .superRefine(payable('minMinor', 'maxMinor'))

/** How free amounts are sold, in the minor unit of the currency. */
export type TopUp = z.infer<typeof topUpSchema>
