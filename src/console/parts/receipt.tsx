/**
 * What a call was charged for: quantities at their prices, what was rounded, and which grants paid.
 */
import { locale, t } from '../language/language.ts'
import type { CallDetails } from '../api/endpoints.ts'
import { MILLION, credits, number, shortId } from './format.ts'
import type { Column } from './table.tsx'
import { Table } from './table.tsx'
import { Worth } from './worth.tsx'

const words = t.calls.receipt

type Line = CallDetails['receipt'][number]

/** Priced by the million. */
const SMALL = new Set<Line['unit']>(['token', 'character'])

/** Lines that state no quantity of their own. */
const ALONE = new Set<Line['what']>([
  'minimum',
  'limit',
  'rounding',
  'uncollected',
  'held',
  'refund',
  'call',
  'perCall',
])

/** A quantity times its price, like "4,996 tokens × 1,000 per 1M". */
function termOf({ what, quantity, unit, credits: sum }: Line): string {
  if (ALONE.has(what)) return ''
  const count = Number(quantity)
  if (unit === 'share') return `× ${number(count)}`
  const counted = words.counted(number(count), count === 1, unit)
  if (count === 0) return counted
  const each = Number(sum) / count
  return SMALL.has(unit) ? words.perMillion(counted, number(each * MILLION)) : `${counted} × ${number(each)}`
}

const exact = new Intl.NumberFormat(locale, { maximumFractionDigits: 8 })

/** An exact amount as people read it; shorter than a hundred-millionth of a credit it is cut. */
const amountText = (text: string): string => exact.format(Number(text)).replace('-', '−')

const COLUMNS: Column<Line>[] = [
  { header: words.what, cell: ({ what }) => words.whats[what] },
  { header: words.term, class: 'soft', cell: termOf },
  { header: t.overview.calls.credits, right: true, class: 'digits', cell: ({ credits: sum }) => amountText(sum) },
]

/** What was asked for, where the price depends on it: "1024x1024, high, 5 s". */
function shapeText({ resolution, size, quality, seconds }: CallDetails['measured']): string {
  return [resolution, size, quality, seconds !== null && words.seconds(number(seconds))].filter(Boolean).join(', ')
}

/** What each grant paid in the end, with what came back to it. */
function payersOf({ ledger }: CallDetails): { grantId: string; origin: string; paid: number }[] {
  const paid = new Map<string, { grantId: string; origin: string; paid: number }>()
  for (const { grantId, origin, amount } of ledger) {
    const one = paid.get(grantId) ?? { grantId, origin: t.words.origins[origin], paid: 0 }
    paid.set(grantId, { ...one, paid: one.paid - amount })
  }
  return [...paid.values()].filter((one) => one.paid > 0)
}

const payerText = ({ grantId, origin, paid }: ReturnType<typeof payersOf>[number]): string =>
  `${origin} ${shortId(grantId)} (${number(paid)})`

/** The receipt of a call; nothing of a refusal, which cost nothing. */
export function Receipt({ details }: { details: CallDetails }) {
  const { call, receipt, measured } = details
  if (receipt.length === 0) return null
  const shape = shapeText(measured)
  const payers = payersOf(details)
  return (
    <section class="receipt" data-testid="receipt">
      <h3>{words.title}</h3>
      {shape !== '' && <p class="soft">{shape}</p>}
      <Table label={words.title} columns={COLUMNS} rows={receipt} keyOf={({ what }) => what} broad={false} />
      <p>
        <strong>{credits(call.credits)}</strong>
        <Worth credits={call.credits} />
        <span class="soft">
          {words.ofHeld(number(call.creditsPrecharged))}
          {payers.length > 0 && words.paidBy(payers.map(payerText).join(', '))}
        </span>
      </p>
    </section>
  )
}
