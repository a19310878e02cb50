/**
 * How the body of a call is parsed, and the order in which its faults are answered: model, then prompt or messages,
 * then other fields (docs/api/errors.md#the-order-of-checks).
 */
import type { z } from 'zod'
import type { ErrorCode } from '../platform/errors.ts'
import { ApiError } from '../platform/errors.ts'
import { aboutField, fieldFault, fieldPath, fieldRefusal } from '../platform/field-errors.ts'
import type { Fields } from '../platform/fields.ts'
import { NEEDS_ALLOW, isBilled } from './billed-fields.ts'

/** The fields whose faults have codes of their own, in the order in which they are answered. */
const OWN_CODES = [
  ['model', 'unsupported_model'],
  ['prompt', 'invalid_prompt'],
  ['messages', 'invalid_messages'],
] as const

/**
 * Parses a body. The model's fault always comes first, so the caller has checked the model before.
 * @param ownCodes the fields whose faults are no `invalid_request`
 * @throws ApiError unsupported_model, invalid_prompt, invalid_messages, or invalid_request that names the field.
 */
export function parseBody<S extends z.ZodType>(
  schema: S,
  body: Fields,
  ownCodes: readonly (readonly [field: string, code: ErrorCode])[] = OWN_CODES,
): z.infer<S> {
  const parsed = schema.safeParse(body, { error: fieldFault })
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  for (const [field, code] of ownCodes) {
    const issue = issues.find((one) => one.path[0] === field)
    if (issue?.code === 'unrecognized_keys') throw unknownFieldError([...issue.path, issue.keys[0]!])
    if (issue)
      throw new ApiError(code, {
        param: fieldPath(issue.path),
        message: isMissing(body[field]) ? undefined : sentenceOf(issue),
      })
  }
  const issue = issues[0]!
  if (issue.code === 'unrecognized_keys') throw unknownFieldError([...issue.path, issue.keys[0]!])
  throw fieldRefusal(fieldPath(issue.path), issue.message)
}

const isMissing = (value: unknown): boolean => !Array.isArray(value) || value.length === 0

const sentenceOf = ({ path, message }: { path: PropertyKey[]; message: string }): string =>
  aboutField(fieldPath(path), message)

/** How much of a field's name an error repeats, in characters: the client chose it. */
const MAX_PARAM = 200

/** The refusal of a field that is on no list: one that is billed could be allowed. */
export function unknownFieldError(path: PropertyKey[]): ApiError {
  const param = fieldPath(path).slice(0, MAX_PARAM)
  return fieldRefusal(param, isBilled(param) ? NEEDS_ALLOW : 'is not a known field')
}
