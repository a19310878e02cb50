/**
 * Usage by days; past days are added up once. A page asks again after every burst of calls: the thousands of calls of
 * past days need not be read each time.
 */
import { LRUCache } from 'lru-cache'
import type { DayUsage } from '../../shared/reports/usage.ts'
import type { Seen } from '../../shared/identity/members.ts'
import type { KeyId } from '../../shared/platform/ids.ts'

const DAY_MS = 86_400_000

/** How long after its end a day counts as over, in ms: clocks differ, and a call is stored a moment after its time. */
const GRACE_MS = 3_600_000

/** The most days that are cached, of all accounts together: some ten megabytes. */
const MAX_KEPT_DAYS = 20_000

/** Adds up the usage of some days, oldest first. `keyId`: only what came with this key. */
type AddUp<Row> = (seen: Seen, from: string, to: string, keyId: KeyId | null) => Promise<DayUsage<Row>[]>

/** Reads usage; caches the days in which nothing can change any more. */
export class UsageDays<Row extends { day: string }> {
  private readonly addUp: AddUp<Row>
  /** By account, member, key and day. */
  private readonly kept = new LRUCache<string, Omit<DayUsage<Row>, 'open'>[]>({ max: MAX_KEPT_DAYS })

  constructor(addUp: AddUp<Row>) {
    this.addUp = addUp
  }

  /**
   * The rows of the days `from` to `to` (YYYY-MM-DD, inclusive), oldest first.
   * @param keyId only what came with this key.
   */
  async read(seen: Seen, from: string, to: string, keyId: KeyId | null = null): Promise<Omit<DayUsage<Row>, 'open'>[]> {
    const place = (day: string): string => `${seen.accountId} ${seen.memberId} ${keyId} ${day}`
    const known = new Map(daysOf(from, to).map((day) => [day, this.kept.get(place(day))]))
    const missing = [...known.keys()].filter((day) => known.get(day) === undefined)
    if (missing.length > 0) {
      const rows = await this.addUp(seen, missing[0]!, missing.at(-1)!, keyId)
      for (const day of missing) {
        const own = rows.filter((row) => row.day === day)
        known.set(day, own.map(withoutOpen))
        if (isOver(day) && own.every((row) => row.open === 0)) this.kept.set(place(day), known.get(day)!)
      }
    }
    return [...known.values()].flatMap((rows) => rows!)
  }
}

const withoutOpen = <Row>({ open: _open, ...row }: DayUsage<Row>): Omit<DayUsage<Row>, 'open'> => row

const isOver = (day: string): boolean => Date.parse(day) + DAY_MS + GRACE_MS < Date.now()

function daysOf(from: string, to: string): string[] {
  const first = Date.parse(from)
  return Array.from({ length: Math.round((Date.parse(to) - first) / DAY_MS) + 1 }, (_, index) =>
    new Date(first + index * DAY_MS).toISOString().slice(0, 10),
  )
}
