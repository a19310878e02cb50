/** Exact arithmetic on the decimal numbers of other gateways: fractions of whole numbers, never floating point. */

/** A fraction; `below` is positive. */
export type Exact = { above: bigint; below: bigint }

const DECIMAL = /^(-?)(\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,3}))?$/

/** The number that a text states, in decimals, perhaps with an exponent; null if it states none. */
export function exactOf(text: string): Exact | null {
  const [, sign, whole, part = '', power = '0'] = DECIMAL.exec(text) ?? []
  if (whole === undefined) return null
  const digits = BigInt(`${sign}${whole}${part}`)
  const places = part.length - Number(power)
  return places > 0 ? { above: digits, below: 10n ** BigInt(places) } : wholeNumber(digits * 10n ** BigInt(-places))
}

/** A whole number. */
export const wholeNumber = (above: bigint): Exact => ({ above, below: 1n })

/** Zero. */
export const ZERO = wholeNumber(0n)

/** The sum of two. */
export const plus = (one: Exact, other: Exact): Exact => ({
  above: one.above * other.below + other.above * one.below,
  below: one.below * other.below,
})

/** The first without the second. */
export const minus = (one: Exact, other: Exact): Exact => plus(one, { ...other, above: -other.above })

/** The product of two. */
export const times = (one: Exact, other: Exact): Exact => ({
  above: one.above * other.above,
  below: one.below * other.below,
})

/** One divided by another, which must be positive. */
export const dividedBy = (one: Exact, other: Exact): Exact => ({
  above: one.above * other.below,
  below: one.below * other.above,
})

/** The larger of two. */
export const larger = (one: Exact, other: Exact): Exact => (minus(one, other).above < 0n ? other : one)

/** The largest whole number that is not above it. */
export function floorOf({ above, below }: Exact): bigint {
  const quotient = above / below
  return above % below < 0n ? quotient - 1n : quotient
}

/** The smallest whole number that is not below it. */
export const ceilingOf = ({ above, below }: Exact): bigint => -floorOf({ above: -above, below })

/** Whether it is a whole number. */
export const isWhole = ({ above, below }: Exact): boolean => above % below === 0n

/** A decimal number as text, without superfluous zeros: sums of decimal numbers are decimal. */
export function decimalText({ above, below }: Exact): string {
  if (above < 0n) return `-${decimalText({ above: -above, below })}`
  let places = 0
  let scaled = below
  while (scaled % 10n === 0n) {
    places++
    scaled /= 10n
  }
  const digits = (above / scaled).toString().padStart(places + 1, '0')
  const at = digits.length - places
  const part = digits.slice(at).replace(/0+$/, '')
  return part === '' ? digits.slice(0, at) : `${digits.slice(0, at)}.${part}`
}
