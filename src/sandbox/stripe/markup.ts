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

/** HTML with values in it: text is escaped, other HTML (or a list of it) stands as it is. */
export function html(parts: TemplateStringsArray, ...values: (string | Markup | readonly Markup[])[]): Markup {
  const shownValues = values.map((value) => {
    if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (one) => ESCAPES[one]!)
    return value instanceof Markup ? value.text : value.map((one) => one.text).join('\n')
  })
  return new Markup(String.raw({ raw: parts }, ...shownValues))
}

/** An amount of minor units as people read it. */
export function shown(amount: number, currency: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2
  return format.format(amount / 10 ** digits)
}
