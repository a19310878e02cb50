/** What is wrong with a field, as the end of a sentence that begins with its name: "must be a whole number". Pure. */
import type { z } from 'zod'
import { ApiError } from './errors.ts'

type Issue = z.core.$ZodRawIssue

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const number = (value: number): string => value.toLocaleString('en-US')

/** The fault of a value that a schema refuses, where the schema itself has no message for it. */
export function fieldFault(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : choices(issue.values)
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum), issue.inclusive !== false)
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', Number(issue.maximum))
    case 'unrecognized_keys':
      return `has an unknown field: ${issue.keys[0]}`
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'is not valid'
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is not valid'
    case 'invalid_format':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'custom':
      return 'is not valid'
  }
}

/** A field's path as messages name it: `messages[0].content`. Empty for the whole body. */
export const fieldPath = (path: readonly PropertyKey[]): string =>
  path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index ? '.' : ''}${String(step)}`)).join('')

/** A public sentence about a field. @param fault as `fieldFault` or a schema's own message words it */
export const aboutField = (path: string, fault: string): string =>
  `${path || 'The request'} ${fault.replace(/\.$/, '')}.`

/** The refusal of a field. @param fault as `aboutField` takes it */
export const fieldRefusal = (param: string, fault: string): ApiError =>
  new ApiError('invalid_request', { param, message: aboutField(param, fault) })

function choices(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value))
  return texts.length === 1 ? `must be ${texts[0]}` : `must be one of ${texts.join(', ')}`
}

function tooSmall(origin: string, minimum: number, inclusive: boolean): string {
  const isList = origin === 'string' || origin === 'array'
  if (isList && inclusive && minimum === 1) return 'must not be empty'
  return bound(origin, inclusive ? 'at least' : 'more than', minimum)
}

function bound(origin: string, comparison: string, value: number): string {
  if (origin === 'string') return `must have ${comparison} ${number(value)} characters`
  if (origin === 'array') return `must have ${comparison} ${number(value)} elements`
  return `must be ${comparison} ${number(value)}`
}
