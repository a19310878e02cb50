/**
 * GET /api/usage: what an account used, by day and model.
 */
import { z } from 'zod'
import { MODALITIES } from '../../shared/calls/lifecycle.ts'
import { dayOf, daysOf } from '../../shared/calls/days.ts'
import { credits, listOf } from '../answers.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { session } from '../who.ts'
import { daysQuery, keyId } from '../fields.ts'
import { UsageDays } from './usage-days.ts'

const usageRow = z
  .strictObject({
    day: z.iso.date(),
    model: z.string(),
    modality: z.enum(MODALITIES),
    calls: z.int().meta({ description: 'Calls accepted on this day, including failed but not refused ones.' }),
    failed: z.int(),
    credits,
    inputTokens: z.int(),
    outputTokens: z.int(),
  })
  .meta({ id: 'Usage' })

/** Shows the usage of some days. */
export const showUsage = endpoint({
  method: 'get',
  path: '/api/usage',
  tag: 'Records',
  summary: 'Usage by day and model',
  who: session,
  query: daysQuery.extend({ keyId: keyId.optional().meta({ description: 'Only calls made with this key.' }) }),
  answers: {
    200: { description: 'One row for each day and model with calls, oldest first.', schema: listOf(usageRow) },
  },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => {
  const usage = new UsageDays(db)
  return async ({ who, query }) => {
    const { from, to } = daysOf(query, dayOf(Date.now()))
    return { ok: true, data: await usage.read(who.accountId, from, to, query.keyId) }
  }
})
