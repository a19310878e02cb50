/**
 * Fields that several requests have. Query fields are texts: each is checked whole, nothing is guessed from a part of
 * it.
 */
import { z } from 'zod'
import { DEFAULT_DAYS, MAX_DAYS } from '../shared/calls/days.ts'
import type { KeyId } from '../shared/ids.ts'
import { parseId } from '../shared/ids.ts'

/** Not fit for one line of text: controls, line ends, lone surrogates, and what turns or hides the text beside it. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/u

/** One line of text, perhaps empty, kept as it is typed. `max` in code points. */
export const line = (max: number) =>
  z
    .string({ error: `is a text of at most ${max} characters` })
    .refine((text) => text.length <= 2 * max && Array.from(text).length <= max, `has more than ${max} characters`)
    .refine((text) => !FORBIDDEN_CHARACTERS.test(text), 'has a character that does not belong into a line of text')
    .meta({ override: { maxLength: max } })

/** A label that people give to a thing, kept as it is typed. `max` in code points. */
export const label = (max: number) =>
  line(max)
    .refine((text) => text.trim() !== '', 'is empty')
    .meta({ override: { minLength: 1, maxLength: max } })

/** What a list is searched for; an empty text by default. */
export const searchText = (description: string) =>
  z
    .string({ error: 'must appear only once' })
    .max(254, 'must be at most 254 characters')
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'is not valid text')
    .default('')
    .meta({ description })

/** A whole number that comes as a text of the query. */
export const wholeNumber = (minimum: number, maximum: number) => {
  const fault = `is a whole number from ${minimum} to ${maximum}`
  return z
    .string({ error: 'is given once' })
    .regex(/^\d{1,15}$/, fault)
    .transform(Number)
    .refine((number) => number >= minimum && number <= maximum, fault)
    .meta({ override: described({ type: 'integer', pattern: undefined, minimum, maximum }) })
}

/** How a field is described otherwise than it is parsed. */
const described =
  (fields: object) =>
  ({ jsonSchema }: { jsonSchema: object }): void => {
    Object.assign(jsonSchema, fields)
  }

/** How many elements a page has where nothing else is asked for. */
const PAGE = 50

/** How many elements a page has. */
export const pageLimit = wholeNumber(1, 100)
  .default(PAGE)
  .meta({ description: 'The most elements to return.', override: described({ default: PAGE }) })

/** Where the next page begins. */
export const pageCursor = z
  .string({ error: 'is given once' })
  .min(1, 'is empty')
  .optional()
  .meta({ description: 'The `nextCursor` of the previous page.' })

/** Days that are asked for lie in these centuries: Postgres knows fewer than JavaScript. */
const isPlausibleDate = (text: string): boolean => text >= '1970' && text < '3000'

/** A day in UTC, YYYY-MM-DD. */
export const day = z.iso.date({ error: 'is a day, YYYY-MM-DD' }).refine(isPlausibleDate, 'lies outside of 1970 to 2999')

/** A day in UTC, or a moment with its zone. */
export const moment = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: 'is a day (YYYY-MM-DD) or a time with its zone (2030-01-31T12:00:00Z)',
  })
  .refine(isPlausibleDate, 'lies outside of 1970 to 2999')

const DAY_MS = 86_400_000

const isDay = (text: string): boolean => text.length === 10

/** The first millisecond of a moment: a day begins at midnight. */
export const startOf = (text: string): Date => new Date(isDay(text) ? `${text}T00:00:00Z` : text)

/** The millisecond after a moment, whose last one belongs to it: a day ends before the next midnight. */
export const endOf = (text: string): Date => new Date(startOf(text).getTime() + (isDay(text) ? DAY_MS : 1))

/** The days of a report, as a query names them. */
export const daysQuery = z.object({
  from: day.optional().meta({ description: `First day, in UTC; ${DEFAULT_DAYS} days up to \`to\` where absent.` }),
  to: day.optional().meta({ description: `Last day, in UTC; today if absent. At most ${MAX_DAYS} days.` }),
})

/** The id of a key. */
export const keyId = z.string({ error: 'must appear only once' }).transform((text, context): KeyId => {
  const id = parseId('key', text)
  if (id) return id
  context.addIssue({ code: 'custom', message: 'is not a key id' })
  return z.NEVER
})
