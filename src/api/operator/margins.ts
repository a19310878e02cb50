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
  query: daysQuery,
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
  errors: [],
}).handle(({ db }: Pick<WebDeps, 'db'>) => async ({ query }) => {
  const creditMicroUsd = await creditWorth(db)
  return { ok: true, creditMicroUsd, data: await marginsByDay(db, daysOf(query, dayOf(Date.now())), creditMicroUsd) }
})
