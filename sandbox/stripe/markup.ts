/** HTML that is safe to send. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** HTML with values in it: text is escaped, other HTML (or a list of it) is included as it is. */
export function html(parts: TemplateStringsArray, ...values: (string | Markup | readonly Markup[])[]): Markup {
  const shownValues = values.map((value) => {
    if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (one) => ESCAPES[one]!)
    return value instanceof Markup ? value.text : value.map((one) => one.text).join('\n')
  })
  return new Markup(String.raw({ raw: parts }, ...shownValues))
}

/** The digits that Stripe gives currencies which have not two (https://docs.stripe.com/currencies). */
const DIGITS: Readonly<Record<string, number>> = Object.fromEntries([
  ...'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((one) => [one, 0] as const),
  ...'bhd jod kwd omr tnd'.split(' ').map((one) => [one, 3] as const),
])

/** An amount of minor units as people read it. */
export function shown(amount: number, currency: string): string {
  const digits = DIGITS[currency.toLowerCase()] ?? 2
  const format = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
  return format.format(amount / 10 ** digits)
}
