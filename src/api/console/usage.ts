/**
 * GET /api/usage, GET /api/usage/keys and GET /api/usage/members: what an account used, by day, and by model, key or
 * member. GET /api/usage/latency:
 * how long its calls took.
 */
import { z } from 'zod'
import { allOf, seenBy } from '../../shared/identity/members.ts'
import type { Seen } from '../../shared/identity/members.ts'
import { listMembers } from '../../shared/identity/shown-member.ts'
import { dayOf, daysOf } from '../../shared/reports/days.ts'
import { latencyOfAccount } from '../../shared/reports/latency.ts'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import { keyUsageByDay, memberUsageByDay, usageByDay, usageByHour } from '../../shared/reports/usage.ts'
import type { DayUsage } from '../../shared/reports/usage.ts'
import type { AccountId, KeyId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { credits, id, latency, listOf, ok, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { manager, session } from '../endpoint/auth.ts'
import { daysQuery, keyId, moment, startOf } from '../endpoint/fields.ts'
import { LRUCache } from 'lru-cache'

const used = {
  calls: z.int().meta({ description: 'Calls accepted on this day, including failed but not refused ones.' }),
  failed: z.int(),
  credits,
  inputTokens: z.int(),
  outputTokens: z.int(),
  succeeded: z.int(),
  succeededMs: z.int().meta({ description: 'How long those that succeeded took together, in milliseconds.' }),
}

const usageRow = z
  .strictObject({ day: z.iso.date(), model: z.string(), modality: z.enum(MODALITIES), ...used })
  .meta({ id: 'Usage' })

const keyUsageRow = z.strictObject({ day: z.iso.date(), keyId: id('key'), ...used }).meta({ id: 'KeyUsage' })

const memberUsageRow = z
  .strictObject({
    day: z.iso.date(),
    memberId: id('usr'),
    email: z.string().nullable().meta({ description: 'null for somebody who is a member no longer.' }),
    ...used,
  })
  .meta({ id: 'MemberUsage' })

const declared = { method: 'get', tag: 'Records', auth: session } as const

const ofKey = keyId.optional().meta({ description: 'Only calls made with this key.' })

/** Shows the usage of some days. */
export const showUsage = endpoint({
  ...declared,
  path: '/api/usage',
  summary: 'Usage by day and model',
  query: daysQuery.extend({ keyId: ofKey }),
  answers: {
    200: { description: 'One row for each day and model with calls, oldest first.', schema: listOf(usageRow) },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => {
  const usage = new UsageDays((seen, from, to, key) => usageByDay(db, seen, from, to, key))
  return async ({ auth, query }) => {
    const { from, to } = daysOf(query, dayOf(Date.now()))
    return { ok: true, data: await usage.read(seenBy(auth), from, to, query.keyId) }
  }
})

const HOUR_MS = 3_600_000

/** The most hours of one answer: a week. */
const MOST_HOURS = 168

/** Shows the usage of some hours. */
export const showHourUsage = endpoint({
  ...declared,
  path: '/api/usage/hours',
  summary: 'Usage by hour and model',
  query: z.object({
    from: moment.optional().meta({ description: 'The hour of this is the first; 24 hours up to `to` if absent.' }),
    to: moment.optional().meta({ description: `Now if absent. At most ${MOST_HOURS} hours.` }),
    keyId: ofKey,
  }),
  answers: {
    200: {
      description: 'One row for each hour (UTC) and model with calls, oldest first.',
      schema: listOf(usageRow.omit({ day: true }).extend({ hour: time }).meta({ id: 'HourUsage' })),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, query }) => {
  const to = query.to ? startOf(query.to) : new Date()
  const from = query.from ? startOf(query.from) : new Date(to.getTime() - 23 * HOUR_MS)
  if (from > to) throw fieldRefusal('to', 'must not be before from')
  if (to.getTime() - from.getTime() > MOST_HOURS * HOUR_MS)
    throw fieldRefusal('from', `must be at most ${MOST_HOURS} hours before to`)
  return { ok: true, data: await usageByHour(db, seenBy(auth), { from, to, keyId: query.keyId ?? null }) }
})

/** Shows which keys the usage of some days came with. */
export const showKeyUsage = endpoint({
  ...declared,
  path: '/api/usage/keys',
  summary: 'Usage by day and key',
  query: daysQuery,
  answers: {
    200: { description: 'One row for each day and key with calls, oldest first.', schema: listOf(keyUsageRow) },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => {
  const usage = new UsageDays((seen, from, to) => keyUsageByDay(db, seen, from, to))
  return async ({ auth, query }) => {
    const { from, to } = daysOf(query, dayOf(Date.now()))
    const rows = await usage.read(seenBy(auth), from, to)
    return { ok: true, data: rows.map((row) => ({ ...row, keyId: publicId('key', row.keyId) })) }
  }
})

/** Reads which members of an account used what on some days. */
export function memberUsage(db: Db) {
  const usage = new UsageDays((seen, from, to) => memberUsageByDay(db, seen, from, to))
  return async (accountId: AccountId, days: z.output<typeof daysQuery>) => {
    const { from, to } = daysOf(days, dayOf(Date.now()))
    const seen = allOf(accountId)
    const [rows, members] = await Promise.all([usage.read(seen, from, to), listMembers(db, seen)])
    const emails = new Map(members.map((one) => [one.id, one.email]))
    return rows.map(({ memberId: member, ...row }) => {
      const memberId = publicId('user', member)
      return { ...row, memberId, email: emails.get(memberId) ?? null }
    })
  }
}

/** Shows which members used what on some days. */
export const showMemberUsage = endpoint({
  ...declared,
  auth: manager,
  path: '/api/usage/members',
  summary: 'Usage by day and member',
  query: daysQuery,
  answers: {
    200: { description: 'One row for each day and member with calls, oldest first.', schema: listOf(memberUsageRow) },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => {
  const read = memberUsage(db)
  return async ({ auth, query }) => ({ ok: true, data: await read(auth.accountId, query) })
})

const accountLatency = z.strictObject({
  ok,
  all: z.strictObject(latency).nullable().meta({ description: 'Of all these calls; null where none succeeded.' }),
  models: z.array(z.strictObject({ model: z.string(), ...latency })),
  keys: z.array(z.strictObject({ keyId: id('key'), ...latency })),
})

/** Shows how long the calls of some days took. */
export const showLatency = endpoint({
  ...declared,
  path: '/api/usage/latency',
  summary: 'Latency by model and key',
  description:
    'From acceptance to end, of the calls that succeeded. Of a day with thousands of calls, only the newest are read.',
  query: daysQuery.extend({ keyId: ofKey }),
  answers: { 200: { description: 'The median and the 95th percentile.', schema: accountLatency } },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, query }) => {
  const { from, to } = daysOf(query, dayOf(Date.now()))
  const { keys, ...found } = await latencyOfAccount(db, seenBy(auth), from, to, query.keyId)
  return { ok: true, ...found, keys: keys.map((row) => ({ ...row, keyId: publicId('key', row.keyId) })) }
})

const DAY_MS = 86_400_000

/** How long after its end a day counts as over, in ms: clocks differ, and a call is stored a moment after its time. */
const GRACE_MS = 3_600_000

/** The most days that are cached, of all accounts together: some ten megabytes. */
const MAX_CACHED_DAYS = 20_000

/** Adds up the usage of some days, oldest first. `keyId`: only what came with this key. */
type AddUp<Row> = (seen: Seen, from: string, to: string, keyId: KeyId | null) => Promise<DayUsage<Row>[]>

/**
 * Reads usage; caches the days in which nothing can change any more. A page asks again after every burst of calls: the
 * thousands of calls of past days need not be read each time.
 */
class UsageDays<Row extends { day: string }> {
  private readonly addUp: AddUp<Row>
  /** By account, member, key and day. */
  private readonly cache = new LRUCache<string, Omit<DayUsage<Row>, 'open'>[]>({ max: MAX_CACHED_DAYS })

  constructor(addUp: AddUp<Row>) {
    this.addUp = addUp
  }

  /**
   * The rows of the days `from` to `to` (YYYY-MM-DD, inclusive), oldest first.
   * @param keyId only what came with this key.
   */
  async read(seen: Seen, from: string, to: string, keyId: KeyId | null = null): Promise<Omit<DayUsage<Row>, 'open'>[]> {
    const place = (day: string): string => `${seen.accountId} ${seen.memberId} ${keyId} ${day}`
    const known = new Map(daysBetween(from, to).map((day) => [day, this.cache.get(place(day))]))
    const missing = [...known.keys()].filter((day) => known.get(day) === undefined)
    if (missing.length > 0) {
      const rows = await this.addUp(seen, missing[0]!, missing.at(-1)!, keyId)
      for (const day of missing) {
        const own = rows.filter((row) => row.day === day)
        known.set(day, own.map(withoutOpen))
        if (isOver(day) && own.every((row) => row.open === 0)) this.cache.set(place(day), known.get(day)!)
      }
    }
    return [...known.values()].flatMap((rows) => rows!)
  }
}

const withoutOpen = <Row>({ open: _open, ...row }: DayUsage<Row>): Omit<DayUsage<Row>, 'open'> => row

const isOver = (day: string): boolean => Date.parse(day) + DAY_MS + GRACE_MS < Date.now()

function daysBetween(from: string, to: string): string[] {
  const first = Date.parse(from)
  return Array.from({ length: Math.round((Date.parse(to) - first) / DAY_MS) + 1 }, (_, index) =>
    new Date(first + index * DAY_MS).toISOString().slice(0, 10),
  )
}
