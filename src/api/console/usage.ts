/**
 * GET /api/usage and GET /api/usage/keys: what an account used, by day, and by model or key. GET /api/usage/latency:
 * how long its calls took.
 */
import { z } from 'zod'
import { dayOf, daysOf } from '../../shared/reports/days.ts'
import { latencyOfAccount } from '../../shared/reports/latency.ts'
import { MODALITIES } from '../../shared/calls/lifecycle.ts'
import { keyUsageByDay, usageByDay } from '../../shared/reports/usage.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { credits, id, latency, listOf, ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { session } from '../endpoint/auth.ts'
import { daysQuery, keyId } from '../endpoint/fields.ts'
import { UsageDays } from './usage-days.ts'

const used = {
  calls: z.int().meta({ description: 'Calls accepted on this day, including failed but not refused ones.' }),
  failed: z.int(),
  credits,
  inputTokens: z.int(),
  outputTokens: z.int(),
}

const usageRow = z
  .strictObject({ day: z.iso.date(), model: z.string(), modality: z.enum(MODALITIES), ...used })
  .meta({ id: 'Usage' })

const keyUsageRow = z.strictObject({ day: z.iso.date(), keyId: id('key'), ...used }).meta({ id: 'KeyUsage' })

const declared = { method: 'get', tag: 'Records', auth: session, errors: [] } as const

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
  const usage = new UsageDays((accountId, from, to, key) => usageByDay(db, accountId, from, to, key))
  return async ({ auth, query }) => {
    const { from, to } = daysOf(query, dayOf(Date.now()))
    return { ok: true, data: await usage.read(auth.accountId, from, to, query.keyId) }
  }
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
  const usage = new UsageDays((accountId, from, to) => keyUsageByDay(db, accountId, from, to))
  return async ({ auth, query }) => {
    const { from, to } = daysOf(query, dayOf(Date.now()))
    const rows = await usage.read(auth.accountId, from, to)
    return { ok: true, data: rows.map((row) => ({ ...row, keyId: publicId('key', row.keyId) })) }
  }
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
  const { keys, ...found } = await latencyOfAccount(db, auth.accountId, from, to, query.keyId)
  return { ok: true, ...found, keys: keys.map((row) => ({ ...row, keyId: publicId('key', row.keyId) })) }
})
