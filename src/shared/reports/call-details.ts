/** The details of one call: its record, its receipt, and what its price depends on. */
import type { Db } from '../platform/postgres/db.ts'
import type { Seen } from '../identity/members.ts'
import { ownedBy } from '../identity/members.ts'
import type { AccountId, CallId } from '../platform/ids.ts'
import type { Tokens } from '../terms/pricing.ts'
import type { ReceiptFacts, ReceiptLine } from '../terms/receipts.ts'
import { receiptOf } from '../terms/receipts.ts'
import type { CallRecord, RecordRow } from './call-records.ts'
import { RECORD_COLUMNS, recordOf } from './call-records.ts'

/** What its price depends on, where that is not its tokens; null each where that is unknown or does not apply. */
export type Measures = {
  /** Characters, or searches. */
  units: number | null
  seconds: number | null
  resolution: string | null
  size: string | null
  quality: string | null
}

/** One call with its receipt, when a worker began it, and whose it is. */
export type CallDetails = {
  call: CallRecord
  receipt: ReceiptLine[]
  measured: Measures
  startedAt: string | null
  accountId: AccountId
}

/** What only the details of a call show. */
const DETAIL_COLUMNS = [
  'started_at',
  'account_id',
  'repeated_input_tokens',
  'units',
  'seconds',
  'resolution',
  'size',
  'quality',
] as const

type DetailRow = RecordRow &
  Omit<Measures, 'seconds'> & {
    started_at: Date | null
    account_id: AccountId
    repeated_input_tokens: number | null
    /** A decimal is read as text. */
    seconds: string | null
  }

/** The details of one call; null if there is none. `seen` limits it to these. */
export async function findDetails(db: Db, id: CallId, seen?: Seen): Promise<CallDetails | null> {
  const row = await db('calls')
    .where({ id, ...(seen && ownedBy(seen)) })
    .first<DetailRow | undefined>(...RECORD_COLUMNS, ...DETAIL_COLUMNS)
  if (!row) return null
  const { units, resolution, size, quality } = row
  return {
    call: recordOf(row),
    receipt: receiptOf(factsOf(row)),
    measured: { units, seconds: row.seconds === null ? null : Number(row.seconds), resolution, size, quality },
    startedAt: row.started_at?.toISOString() ?? null,
    accountId: row.account_id,
  }
}

const factsOf = (row: DetailRow): ReceiptFacts => ({
  modality: row.modality,
  status: row.status,
  price: row.price,
  held: row.credits_precharged,
  credits: row.credits,
  uncollected: row.credits_uncollected,
  tokens: tokensOf(row),
  pictures: row.pictures,
  units: row.units,
  shape: {
    ...(row.seconds !== null && { duration: Number(row.seconds) }),
    ...(row.resolution !== null && { resolution: row.resolution }),
    ...(row.size !== null && { size: row.size }),
    ...(row.quality !== null && { quality: row.quality }),
  },
})

/** The disjoint counts of a row whose `input_tokens` has all input. */
function tokensOf(row: DetailRow): Tokens | null {
  if (row.input_tokens === null) return null
  const [cached, written] = [row.cached_input_tokens ?? 0, row.cache_write_tokens ?? 0]
  const input = row.input_tokens - cached - written
  return { input, cached, written, inputAgain: row.repeated_input_tokens ?? 0, output: row.output_tokens ?? 0 }
}
