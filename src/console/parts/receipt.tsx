/**
 * What a call was charged for: quantities at their prices, what was rounded, and which grants paid.
 */
import { locale, t } from '../language/language.ts'
import type { CallDetails } from '../api/endpoints.ts'
import { MILLION, credits, number, shortId } from './format.ts'
import type { Column } from './table.tsx'
import { Table } from './table.tsx'
import { Worth } from './worth.tsx'

type Line = CallDetails['receipt'][number]

const WHATS: Record<Line['what'], string> = {
  input: 'Input',
  cachedInput: 'Input read from a cache',
  cacheWrite: 'Input written to a cache',
  inputAgain: 'Input kept in a cache for an hour',
  output: 'Output',
  image: 'Images',
  video: 'Video',
  moderation: 'Moderation',
  rerank: 'Ranking',
  speech: 'Speech',
  transcription: 'Transcription',
  call: 'The call',
  perCall: 'For each call',
  minimum: 'Up to the least price of a call',
  group: 'Price of your group',
  limit: 'Not more than what was held allows',
  rounding: 'Rounded up to whole credits',
  uncollected: 'Not collected: became debt',
  held: 'Held',
  refund: 'Given back',
}

const UNITS: Record<Line['unit'], [one: string, many: string]> = {
  token: ['token', 'tokens'],
  picture: ['picture', 'pictures'],
  video: ['video', 'videos'],
  second: ['second', 'seconds'],
  character: ['character', 'characters'],
  search: ['search', 'searches'],
  call: ['call', 'calls'],
  share: ['', ''],
}

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
  const counted = `${number(count)} ${UNITS[unit][count === 1 ? 0 : 1]}`
  if (count === 0) return counted
  const each = Number(sum) / count
  return SMALL.has(unit) ? `${counted} × ${number(each * MILLION)} per 1M` : `${counted} × ${number(each)}`
}

const exact = new Intl.NumberFormat(locale, { maximumFractionDigits: 8 })

/** An exact amount as people read it; shorter than a hundred-millionth of a credit it is cut. */
const amountText = (text: string): string => exact.format(Number(text)).replace('-', '−')

const COLUMNS: Column<Line>[] = [
  { header: 'What', cell: ({ what }) => WHATS[what] },
  { header: 'Quantity × price', class: 'soft', cell: termOf },
  { header: 'Credits', right: true, class: 'digits', cell: ({ credits: sum }) => amountText(sum) },
]

/** What was asked for, where the price depends on it: "1024x1024, high, 5 s". */
function shapeText({ resolution, size, quality, seconds }: CallDetails['measured']): string {
  return [resolution, size, quality, seconds !== null && `${number(seconds)} s`].filter(Boolean).join(', ')
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
      <h3>Receipt</h3>
      {shape !== '' && <p class="soft">{shape}</p>}
      <Table label="Receipt" columns={COLUMNS} rows={receipt} keyOf={({ what }) => what} broad={false} />
      <p>
        <strong>{credits(call.credits)}</strong>
        <Worth credits={call.credits} />
        <span class="soft">
          {' '}
          of {number(call.creditsPrecharged)} held
          {payers.length > 0 && `, paid by ${payers.map(payerText).join(', ')}`}
        </span>
      </p>
    </section>
  )
}
