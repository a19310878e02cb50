/**
 * Fields that several requests have. Query fields are texts: each is checked whole, nothing is guessed from a part of
 * it.
 */
import { z } from 'zod'

/** Not fit for one line of text: controls, line ends, lone surrogates, and what turns or hides the text beside it. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/u

/** One line of text, perhaps empty, kept as it is typed. `max` in code points. */
export const line = (max: number) =>
  z
    .string({ error: `must be a string of at most ${max} characters` })
    .refine(
      (text) => text.length <= 2 * max && Array.from(text).length <= max,
      `must be at most ${max} characters long`,
    )
    .refine((text) => !FORBIDDEN_CHARACTERS.test(text), 'must be a single line without control characters')
    .meta({ override: { maxLength: max } })

/** A label that people give to a thing, kept as it is typed. `max` in code points. */
export const label = (max: number) =>
  line(max)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ override: { minLength: 1, maxLength: max } })

/** How many elements a page has. */
export const pageLimit = z
  .string({ error: 'must appear only once' })
  .regex(/^([1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
  .transform(Number)
  .default(50)
  .meta({ description: 'How many elements at most.', override: asWholeNumber(1, 100, 50) })

/** How a whole number is described that comes as a text of the query. */
function asWholeNumber(minimum: number, maximum: number, fallback: number) {
  return ({ jsonSchema }: { jsonSchema: object }): void => {
    Object.assign(jsonSchema, { type: 'integer', pattern: undefined, minimum, maximum, default: fallback })
  }
}

/** Where the next page begins. */
export const pageCursor = z
  .string({ error: 'must appear only once' })
  .min(1, 'must not be empty')
  .optional()
  .meta({ description: 'The `nextCursor` of the page before.' })

/** Days that are asked for lie in these centuries: Postgres knows fewer than JavaScript. */
const isPlausibleDate = (text: string): boolean => text >= '1970' && text < '3000'

/** A day in UTC, YYYY-MM-DD. */
export const day = z.iso
  .date({ error: 'must be a date (YYYY-MM-DD)' })
  .refine(isPlausibleDate, 'must be between the years 1970 and 2999')

/** A day in UTC, or a moment with its zone. */
export const timestamp = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: 'must be a date (YYYY-MM-DD) or a time with a time zone (2030-01-31T12:00:00Z)',
  })
  .refine(isPlausibleDate, 'must be between the years 1970 and 2999')

const DAY_MS = 86_400_000

const isDay = (text: string): boolean => text.length === 10

/** The first millisecond of a moment: a day begins at midnight. */
export const startOf = (text: string): Date => new Date(isDay(text) ? `${text}T00:00:00Z` : text)

/** The millisecond after a moment, whose last one belongs to it: a day ends before the next midnight. */
export const endOf = (text: string): Date => new Date(startOf(text).getTime() + (isDay(text) ? DAY_MS : 1))
