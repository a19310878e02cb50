/**
 * A price as customers see it: what their group pays, in credits with up to four decimals. A call costs what they come
 * to, rounded up to whole credits once. Pure.
 */
import type { Share } from './pricing.ts'
import { WHOLE_PRICE } from './pricing.ts'

/** Numbers of a price that are no credits: for how many of what they are. */
const COUNTS: readonly string[] = ['perTokens', 'perCharacters']

/** The credits of a price, however deep they are, as `change` makes them. */
const withCredits = <P>(price: P, change: (credits: number) => number): P =>
  JSON.parse(JSON.stringify(price), (name, value: unknown) =>
    typeof value === 'number' && !COUNTS.includes(name) ? change(value) : value,
  ) as P

type Shown<P> = P extends unknown ? Omit<P, keyof Share> : never

/** A price without the share of its group: every number is what the group pays. */
export function shownPrice<P extends object>(price: P): Shown<P> {
  const { priceBasisPoints = WHOLE_PRICE, ...whole } = price as P & Share
  if (priceBasisPoints === WHOLE_PRICE) return whole as Shown<P>
  return withCredits(whole as Shown<P>, (credits) => {
    const digits = String(BigInt(credits) * BigInt(priceBasisPoints)).padStart(5, '0')
    return Number(`${digits.slice(0, -4)}.${digits.slice(-4)}`)
  })
}

/** The price of which `shownPrice` makes this: in ten-thousandths of credits, to be computed with. */
export const priceOfShown = <P extends object>(shown: P): P & Share => ({
  ...withCredits(shown, (credits) => Math.round(credits * WHOLE_PRICE)),
  priceBasisPoints: 1,
})
