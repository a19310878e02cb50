/** Credits in US dollars, as decimals in a string. Pure, and without floating point. */
import type { Share } from './pricing.ts'
import { WHOLE_PRICE } from './pricing.ts'

/** Places behind the point: enough for every price whose decimal ends, and negligible in any amount of money. */
const PLACES = 30n

/**
 * What a price is in dollars for one of what it counts, exactly; a decimal that does not end (a price for three
 * tokens) is rounded up in its 30th place.
 * @param credits whole credits for `per` tokens, or for one call
 * @param creditMicroUsd what a credit is worth, in whole micro-dollars
 * @param share what is paid of the price
 */
export function dollarsOf(
  credits: number,
  creditMicroUsd: number,
  per = 1,
  { priceBasisPoints = WHOLE_PRICE }: Share = {},
): string {
  const unit = 10n ** PLACES
  const divisor = BigInt(per) * 1_000_000n * BigInt(WHOLE_PRICE)
  const due = BigInt(credits) * BigInt(priceBasisPoints) * BigInt(creditMicroUsd)
  const scaled = (due * unit + divisor - 1n) / divisor
  const fraction = String(scaled % unit)
    .padStart(Number(PLACES), '0')
    .replace(/0+$/, '')
  return `${scaled / unit}${fraction && `.${fraction}`}`
}
