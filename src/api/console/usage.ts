/**
 * GET /api/usage, GET /api/usage/keys and GET /api/usage/members: what an account used, by day, and by model, key or
 * member. GET /api/usage/latency:
 * how long its calls took.
 */
import { z } from 'zod'
import { allOf, seenBy } from '../../shared/identity/members.ts'
import { listMembers } from '../../shared/identity/shown-member.ts'
import { dayOf, daysOf } from '../../shared/reports/days.ts'
import { latencyOfAccount } from '../../shared/reports/latency.ts'
import { MODALITIES } from '../../shared/terms/kinds.ts'
import { keyUsageByDay, memberUsageByDay, usageByDay, usageByHour } from '../../shared/reports/usage.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import { fieldRefusal } from '../../shared/platform/field-errors.ts'
import { credits, id, latency, listOf, ok, time } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { manager, session } from '../endpoint/auth.ts'
import { daysQuery, keyId, moment, startOf } from '../endpoint/fields.ts'

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
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, query }) => {
  const { from, to } = daysOf(query, dayOf(Date.now()))
  return { ok: true, data: await usageByDay(db, seenBy(auth), from, to, query.keyId) }
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
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, query }) => {
  const { from, to } = daysOf(query, dayOf(Date.now()))
  const rows = await keyUsageByDay(db, seenBy(auth), from, to)
  return { ok: true, data: rows.map((row) => ({ ...row, keyId: publicId('key', row.keyId) })) }
})

/** Reads which members of an account used what on some days. */
export async function memberUsage(db: Db, accountId: AccountId, days: z.output<typeof daysQuery>) {
  const { from, to } = daysOf(days, dayOf(Date.now()))
  const seen = allOf(accountId)
  const [rows, members] = await Promise.all([memberUsageByDay(db, seen, from, to), listMembers(db, seen)])
  const emails = new Map(members.map((one) => [one.id, one.email]))
  return rows.map(({ memberId: member, ...row }) => {
    const memberId = publicId('user', member)
    return { ...row, memberId, email: emails.get(memberId) ?? null }
  })
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
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ auth, query }) => ({
  ok: true,
  data: await memberUsage(db, auth.accountId, query),
}))

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
