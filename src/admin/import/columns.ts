/**
 * The columns of other gateways as zod schemas. Drivers and dumps write the same value in different ways: whole numbers
 * as text, truth as 0 and 1, times with and without a zone, lists as JSON.
 */
import { z } from 'zod'
import type { Exact } from './exact.ts'
import { exactOf } from './exact.ts'

const refused = (context: z.core.$RefinementCtx, message: string): never => {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

/** A text; a number counts as its digits. */
export const text = z
  .union([z.string(), z.number(), z.bigint(), z.instanceof(Uint8Array)], 'is not a text')
  .transform((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value)))

/** A whole number, exactly. */
export const whole = z
  .union([z.string(), z.number(), z.bigint()], 'is not a whole number')
  .transform((value, context): bigint => {
    if (typeof value === 'bigint') return value
    const isExact = typeof value === 'string' ? /^-?\d{1,30}(\.0+)?$/.test(value) : Number.isSafeInteger(value)
    return isExact ? BigInt(String(value).replace(/\..*/, '')) : refused(context, 'is not an exact whole number')
  })

/** A decimal number, exactly as it is written. */
export const decimal = z
  .union([z.string(), z.number(), z.bigint()], 'is not a number')
  .transform((value, context): Exact => exactOf(String(value)) ?? refused(context, 'is not a number'))

const FLAGS: Record<string, boolean> = { 1: true, t: true, true: true, 0: false, f: false, false: false, '': false }

/** Truth, as any database writes it. */
export const flag = z
  .union([z.boolean(), z.string(), z.number(), z.bigint()], 'is not true or false')
  .transform((value, context): boolean => FLAGS[String(value)] ?? refused(context, 'is not true or false'))

const ZONE = /(?:Z|[+-]\d{2}(?::?\d{2})?)$/i

/** A moment; one without a zone is in UTC. */
export const moment = z.union([z.date(), z.string()], 'is not a time').transform((value, context): Date => {
  if (value instanceof Date) return value
  const iso = value.trim().replace(' ', 'T')
  const zone = ZONE.exec(iso.slice(10))?.[0] ?? ''
  const hours = zone === '' || zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.replace(':', '').slice(3) || '00'}`
  const at = new Date(`${iso.slice(0, iso.length - zone.length)}${hours}`)
  return Number.isNaN(at.getTime()) ? refused(context, 'is not a time') : at
})

/** What a text of JSON states, or a value that the driver has read already; null for an empty text, and without one. */
export const json = z
  .unknown()
  .optional()
  .transform((value, context): unknown => {
    if (typeof value !== 'string') return value ?? null
    try {
      return value.trim() === '' ? null : (JSON.parse(value) as unknown)
    } catch {
      return refused(context, 'is not JSON')
    }
  })

/** A list of texts; null counts as empty. */
export const texts = json.transform((value, context): string[] => {
  const list = z.array(z.string()).safeParse(value ?? [])
  return list.success ? list.data : refused(context, 'is not a list of texts')
})

/** A column that older versions do not have, or that may be null. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null)

/** The elements of a list that is written in one text. */
export const elementsOf = (list: string | null, separator: RegExp): string[] =>
  (list ?? '')
    .split(separator)
    .map((one) => one.trim())
    .filter((one) => one !== '')
