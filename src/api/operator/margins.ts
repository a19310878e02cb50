/**
 * /api/operator/margins: what calls brought in and what they cost.
 */
import { z } from 'zod'
import { dayOf, daysOf } from '../../shared/reports/days.ts'
import { marginsByDay } from '../../shared/reports/margins.ts'
import { creditWorth } from '../../shared/catalogue/versions.ts'
import { credits, ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { daysQuery } from '../endpoint/fields.ts'
import { operator } from '../endpoint/auth.ts'

const microUsd = (description: string) => z.int().nullable().meta({ description })

const margin = z
  .strictObject({
    day: z.iso.date(),
    model: z.string(),
    upstream: z.string().nullable().meta({ description: 'null if no upstream served the call.' }),
    group: z.string().nullable().optional().meta({
      description: 'With `by=group`: the group of the account when the call was opened; null if it was in none.',
    }),
    calls: z.int().meta({ description: 'Calls that succeeded or failed.' }),
    credits,
    revenueMicroUsd: microUsd('The credits in micro-dollars; null if the catalogue has no `creditMicroUsd`.'),
    costMicroUsd: microUsd('What is known of the cost, in micro-dollars; null where nothing is.'),
    callsOfUnknownCost: z.int().meta({ description: 'Calls whose cost is unknown, and not in the sum.' }),
  })
  .meta({ id: 'Margin' })

/** Shows the margins of some days. */
export const showMargins = endpoint({
  views: 'nobody',
  tag: 'Operators',
  auth: operator,
  method: 'get',
  path: '/api/operator/margins',
  summary: 'Revenue and cost by day, model and upstream',
  query: daysQuery.extend({
    by: z.enum(['group'], { error: 'must be group' }).optional().meta({ description: 'A row for each group, too.' }),
  }),
  answers: {
    200: {
      description: 'One row for each day, model and upstream with calls, oldest first.',
      schema: z.strictObject({
        ok,
        creditMicroUsd: microUsd('What a credit is worth, in micro-dollars.'),
        data: z.array(margin),
      }),
    },
  },
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ query }) => {
  const creditMicroUsd = await creditWorth(db)
  const days = daysOf(query, dayOf(Date.now()))
  return { ok: true, creditMicroUsd, data: await marginsByDay(db, days, creditMicroUsd, query.by === 'group') }
})
