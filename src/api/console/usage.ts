/**
 * GET /api/usage: what an account used, by day and model.
 */
import { z } from 'zod'
import { MODALITIES } from '../../shared/calls/lifecycle.ts'
import { ApiError } from '../../shared/errors.ts'
import { credits, listOf } from '../answers.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { session } from '../who.ts'
import { day, endOf, startOf } from '../fields.ts'
import { UsageDays } from './usage-days.ts'

const DAY_MS = 86_400_000

/** Days that are shown where nothing else is asked for. */
const DEFAULT_DAYS = 30

/** The most days of one answer: a leap year. */
const MAX_DAYS = 366

const usageQuery = z.object({
  from: day.optional().meta({ description: `First day, in UTC; ${DEFAULT_DAYS} days up to \`to\` where absent.` }),
  to: day.optional().meta({ description: `Last day, in UTC; today if absent. At most ${MAX_DAYS} days.` }),
})

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
  query: usageQuery,
  answers: {
    200: { description: 'One row for each day and model with calls, oldest first.', schema: listOf(usageRow) },
  },
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => {
  const usage = new UsageDays(db)
  return async ({ who, query }) => {
    const { from, to } = daysOf(query, dayOf(Date.now()))
    return { ok: true, data: await usage.read(who.accountId, from, to) }
  }
})

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Where the client is, tomorrow may have begun already: a first day after today is no fault. */
function daysOf(asked: z.infer<typeof usageQuery>, today: string): { from: string; to: string } {
  const to = asked.to ?? (asked.from !== undefined && asked.from > today ? asked.from : today)
  const from = asked.from ?? dayOf(endOf(to).getTime() - DEFAULT_DAYS * DAY_MS)
  if (from > to) throw new ApiError('invalid_request', { param: 'to', message: 'to must not be before from.' })
  if (endOf(to).getTime() - startOf(from).getTime() > MAX_DAYS * DAY_MS) {
    throw new ApiError('invalid_request', {
      param: 'from',
      message: `from must be at most ${MAX_DAYS} days before to.`,
    })
  }
  return { from, to }
}
