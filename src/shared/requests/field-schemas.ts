/**
 * What the schemas of a chat's fields are made of: optional fields, closed objects, and lists that are checked up to
 * their first fault.
 */
import { z } from 'zod'
import { fieldFault } from '../platform/field-errors.ts'

/** The longest stop sequence, in characters: it may be looked for in each piece of an answer. */
export const MAX_STOP = 256

/** The most tokens that any field may state: a model's own limits are lower. */
export const MAX_TOKENS = 100_000_000

/** A field that a client may also send as null, as OpenAI's do: the same as omitting it. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)

type Context = { issues: unknown[] }

/** A value within another, by its own schema. Only its first fault counts, and its path goes on behind `path`. */
export function within<T extends z.ZodType>(
  schema: T,
  value: unknown,
  context: Context,
  ...path: PropertyKey[]
): z.output<T> {
  const parsed = schema.safeParse(value, { error: fieldFault })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  context.issues.push({ ...issue, path: [...path, ...issue.path], input: undefined })
  return z.NEVER
}

/** A schema as it is in the API's document. */
export function documented(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}

/**
 * A list that is checked up to its first fault: a body of a million faults costs no more than one of one. Its length is
 * checked before its elements are.
 */
export function listOf<T extends z.ZodType>(element: T, least: number, most: number) {
  const list = z
    .custom<unknown[]>((value) => Array.isArray(value), 'must be a list')
    .meta({ type: 'array', items: documented(element) })
  return list.transform((values, context) => {
    if (values.length < least) context.addIssue('must not be empty')
    if (values.length > most) context.addIssue(`must have at most ${most} elements`)
    const good: z.output<T>[] = []
    for (let index = 0; index < values.length && context.issues.length === 0; index++) {
      good.push(within(element, values[index], context, index))
    }
    return context.issues.length === 0 ? good : z.NEVER
  })
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Any object. */
export const jsonObject = z.custom<Record<string, unknown>>(isObject, 'must be an object').meta({ type: 'object' })

/** A text, or a list that is checked up to its first fault. @param shown what its elements are in the API's document */
export const textOr = (list: z.ZodType, shown: z.ZodType, fault: string) =>
  z
    .custom<unknown>((value) => typeof value === 'string' || Array.isArray(value), fault)
    .meta(documented(z.union([z.string(), z.array(shown)])))
    .transform((value, context) => (Array.isArray(value) ? within(list, value, context) : value))

/** An object of which these fields are checked. Others pass, and are neither checked nor copied. */
export function open<S extends z.ZodRawShape>(shape: S) {
  const known = z.object(shape)
  return z
    .custom<Record<string, unknown>>((value) => isObject(value) && !Array.isArray(value), 'must be an object')
    .meta(documented(z.looseObject(shape)))
    .transform((value, context) => {
      within(known, value, context)
      return value
    })
}

/**
 * An object of these fields and no others. A field that it does not know is removed if it is null: clients of typed
 * languages write all that they know, and null asks for nothing.
 */
export const closed = <S extends z.ZodRawShape>(shape: S) =>
  z.preprocess((value) => withoutUnknownNulls(value, shape), z.strictObject(shape))

function withoutUnknownNulls(value: unknown, known: object): unknown {
  if (!isObject(value) || Array.isArray(value)) return value
  const isKept = ([name, one]: [string, unknown]): boolean => one !== null || Object.hasOwn(known, name)
  const fields = Object.entries(value)
  return fields.every(isKept) ? value : Object.fromEntries(fields.filter(isKept))
}

/** An object whose schema depends on its fields; `all` are the possible schemas. */
export const chosen = <T extends z.ZodType>(all: [T, ...T[]], schemaOf: (value: Record<string, unknown>) => T) =>
  z
    .custom<Record<string, unknown>>(isObject, 'must be an object')
    .meta(documented(z.union(all)))
    .transform((value, context): z.output<T> => within(schemaOf(value), value, context))
