/**
 * Fields that several requests share. Query fields are strings, and each is validated as a whole.
 */
import { z } from 'zod'
import { DEFAULT_DAYS, MAX_DAYS } from '../../shared/reports/days.ts'
import type { Id, IdKind } from '../../shared/platform/ids.ts'
import type { TimeOrder } from '../../shared/platform/postgres/time-order.ts'
import { TIME_ORDERS } from '../../shared/platform/postgres/time-order.ts'
import { parseId } from '../../shared/platform/ids.ts'
import { MAX_GRANT_CREDITS } from '../../shared/ledger/ledger.ts'
import { isStorable } from '../../shared/platform/text-fields.ts'
import { messageOf } from '../../shared/platform/errors.ts'

/** What a list is searched for; empty by default. */
export const searchText = (description: string) =>
  z
    .string({ error: 'must appear only once' })
    .max(254, 'must be at most 254 characters')
    .refine(isStorable, 'is not valid text')
    .default('')
    .meta({ description })

/** A whole number in a query. */
export const wholeNumber = (minimum: number, maximum: number) => {
  const fault = `must be a whole number from ${minimum} to ${maximum}`
  return z
    .string({ error: 'must appear only once' })
    .regex(/^\d{1,15}$/, fault)
    .transform(Number)
    .refine((number) => number >= minimum && number <= maximum, fault)
    .meta({ override: described({ type: 'integer', pattern: undefined, minimum, maximum }) })
}

/** How a field is described in the OpenAPI document if that differs from how it is parsed. */
const described =
  (fields: object) =>
  ({ jsonSchema }: { jsonSchema: object }): void => {
    Object.assign(jsonSchema, fields)
  }

/** How many elements a page has by default. */
const PAGE = 50

/** How many elements a page has. */
export const pageLimit = wholeNumber(1, 100)
  .default(PAGE)
  .meta({ description: 'The most elements to return.', override: described({ default: PAGE }) })

/** Which end of the time a list begins at. */
export const timeOrder = z
  .enum(Object.keys(TIME_ORDERS) as [TimeOrder, ...TimeOrder[]], { error: 'must be newest or oldest' })
  .optional()
  .meta({ description: 'Which come first: the newest, if absent.' })

/** Where the next page begins. */
export const pageCursor = z
  .string({ error: 'must appear only once' })
  .min(1, 'must not be empty')
  .optional()
  .meta({ description: 'The `nextCursor` of the previous page.' })

/** Whether a day is in a range that Postgres can store: JavaScript's range is wider. */
const isPlausibleDate = (text: string): boolean => text >= '1970' && text < '3000'
const PLAUSIBLE = 'must be between 1970 and 2999'

/** A day in UTC, YYYY-MM-DD. */
const day = z.iso.date({ error: 'must be a day, YYYY-MM-DD' }).refine(isPlausibleDate, PLAUSIBLE)

/** A day in UTC, or a moment with its zone. */
export const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: 'must be a day (YYYY-MM-DD) or a time with its zone (2030-01-31T12:00:00Z)',
  })
  .refine(isPlausibleDate, PLAUSIBLE)

const DAY_MS = 86_400_000

const isDay = (text: string): boolean => text.length === 10

/** The first millisecond of a moment: a day begins at midnight. */
export const startOf = (text: string): Date => new Date(isDay(text) ? `${text}T00:00:00Z` : text)

/** The first millisecond after a moment, or after a day: where a range that includes it ends. */
export const endOf = (text: string): Date => new Date(startOf(text).getTime() + (isDay(text) ? DAY_MS : 1))

/** The days of a report, as a query names them. */
export const daysQuery = z.object({
  from: day.optional().meta({ description: `First day, in UTC; ${DEFAULT_DAYS} days up to \`to\` if absent.` }),
  to: day.optional().meta({ description: `Last day, in UTC; today if absent. At most ${MAX_DAYS} days.` }),
})

/** An amount of credits in a body: a whole number from 1. */
export const creditAmount = z
  .int({ error: 'must be a whole number' })
  .min(1, 'must be at least 1')
  .max(MAX_GRANT_CREDITS, `must be at most ${MAX_GRANT_CREDITS}`)

const idOf = <K extends IdKind>(kind: K, message: string) =>
  z.string({ error: 'must appear only once' }).transform((text, context): Id<K> => {
    const id = parseId(kind, text)
    if (id) return id
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** The id of a key. */
export const keyId = idOf('key', 'is not a key id')

/** The id of a member. */
export const memberId = idOf('user', 'is not the id of a member')

/** The parameters of a path with one `:id`. Anything but an id of this kind is answered 404 with the message. */
export const pathId = <K extends IdKind>(kind: K, description: string, message = messageOf('not_found')) =>
  parsedId((text): Id<K> | null => parseId(kind, text), description, message)

/** The same for an id that is written in another form. @param parse null if a text is none */
export const parsedId = <T>(parse: (text: string) => T | null, description: string, message: string) =>
  z.object({
    id: z
      .string()
      .transform((text, context): T => {
        const id = parse(text)
        if (id !== null) return id
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      })
      .meta({ description }),
  })
