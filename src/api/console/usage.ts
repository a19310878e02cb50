/**
 * GET /api/usage: what an account used, by day and model.
 */
import type { Middleware } from 'koa'
import { z } from 'zod'
import { ApiError } from '../../shared/errors.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { day, endOf, startOf } from './fields.ts'
import { parseFields } from '../parse-fields.ts'
import { UsageDays } from './usage-days.ts'

const DAY_MS = 86_400_000

/** Days that are shown where nothing else is asked for. */
const DEFAULT_DAYS = 30

/** The most days of one answer: a leap year. */
const MAX_DAYS = 366

export const usageQuery = z.object({
  from: day.optional().meta({ description: `First day, in UTC; ${DEFAULT_DAYS} days up to \`to\` where absent.` }),
  to: day.optional().meta({ description: `Last day, in UTC; today where absent. At most ${MAX_DAYS} days.` }),
})

/** Shows the usage of some days. */
export function showUsage({ db }: Pick<WebDeps, 'db'>): Middleware<RequestState> {
  const usage = new UsageDays(db)
  return async (ctx) => {
    const { from, to } = daysOf(parseFields(usageQuery, ctx.query), dayOf(Date.now()))
    ctx.body = { ok: true, data: await usage.read(ctx.state.session!.accountId, from, to) }
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Where the client is, tomorrow may have begun already: a first day after today is no fault. */
function daysOf(asked: z.infer<typeof usageQuery>, today: string): { from: string; to: string } {
  const to = asked.to ?? (asked.from !== undefined && asked.from > today ? asked.from : today)
  const from = asked.from ?? dayOf(endOf(to).getTime() - DEFAULT_DAYS * DAY_MS)
  if (from > to) throw new ApiError('invalid_request', { param: 'to', message: 'to: lies before from' })
  if (endOf(to).getTime() - startOf(from).getTime() > MAX_DAYS * DAY_MS) {
    throw new ApiError('invalid_request', { param: 'from', message: `from: lies more than ${MAX_DAYS} days before to` })
  }
  return { from, to }
}
