/**
 * The digits of currencies, as the payment provider counts them (Stripe, "Supported currencies": zero-decimal and
 * three-decimal currencies, special cases). The locale data of a program differs from it and from one program to the
 * next, and would show some prices a hundred times too high. Pure.
 */
const WITHOUT_DECIMALS = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '))
const WITH_THREE = new Set('bhd jod kwd omr tnd'.split(' '))

/** Currencies that the provider counts in hundredths, and whose hundredths do not exist. */
const WHOLE_UNITS = new Set(['isk', 'ugx'])

/** How many digits of an amount in the minor unit of a currency are after the point: 2 for euros, 0 for yen. */
export function digitsOf(currency: string): number {
  const code = currency.toLowerCase()
  if (WITHOUT_DECIMALS.has(code)) return 0
  return WITH_THREE.has(code) ? 3 : 2
}

/** What every amount in a currency's minor unit must be a multiple of for the provider to take it. */
export function stepOf(currency: string): number {
  const code = currency.toLowerCase()
  if (WHOLE_UNITS.has(code)) return 100
  return WITH_THREE.has(code) ? 10 : 1
}

/** An amount of minor units as a decimal number: `10.00`. */
export function decimalText(amountMinor: number, currency: string): string {
  const digits = digitsOf(currency)
  return (amountMinor / 10 ** digits).toFixed(digits)
}

/** An amount of minor units with its currency: `10.00 EUR`. */
export const moneyText = (amountMinor: number, currency: string): string =>
  `${decimalText(amountMinor, currency)} ${currency.toUpperCase()}`
