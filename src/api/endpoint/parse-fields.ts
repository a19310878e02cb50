/**
 * How the fields of a query or a body are parsed, and how their faults are answered.
 */
import type { z } from 'zod'
import { ApiError, isErrorCode } from '../../shared/platform/errors.ts'
import { fieldFault, fieldPath, fieldRefusal } from '../../shared/platform/field-errors.ts'

/**
 * Parses a query or a body.
 * @throws ApiError the code that a field's schema names as its message, else invalid_request whose message begins with
 *   the field at fault.
 */
export function parseFields<S extends z.ZodType>(schema: S, fields: unknown): z.infer<S> {
  const parsed = schema.safeParse(fields, { error: fieldFault })
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  const param = fieldPath(path)
  if (isErrorCode(message) && message !== 'invalid_request') throw new ApiError(message, { param })
  throw fieldRefusal(param, message)
}
