/**
 * How the body of a chat is checked, the same for each dialect, in the words of its API: its fields by their three
 * kinds, and its shape.
 */
import type { z } from 'zod'
import type { ApiError } from '../platform/errors.ts'
import { fieldFault } from '../platform/field-errors.ts'
import type { Fields } from '../platform/fields.ts'
import type { ChatRequest } from '../requests/requests.ts'
import type { CountingRules } from '../terms/pricing.ts'

/** What a model decides of a body: how it is counted, and the fields that its upstreams allow. */
export type BodyRules = CountingRules & { upstreams: readonly { allow: readonly string[] }[] }

/** What is asked for; the tools of upstreams that were omitted from it, by their names; the betas that may pass. */
export type Checked = { request: ChatRequest; droppedTools?: string[]; betas?: string[] }

/** The fields that any upstream of a model allows. */
export const allowedBy = ({ upstreams }: BodyRules): ReadonlySet<string> =>
  new Set(upstreams.flatMap(({ allow }) => allow))

/** The fields of a checked body that one upstream is sent: free ones, and those that it allows. */
export const sentFields = (body: Fields, free: ReadonlySet<string>, allow: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(body).filter(([name]) => free.has(name) || allow.includes(name)))

/** A dialect's fields: those that pass, those that are dearer and why, and the values of these that are not. */
export type FieldKinds = {
  free: ReadonlySet<string>
  dearer: Readonly<Record<string, string>>
  freeValues: Readonly<Record<string, readonly unknown[]>>
}

/** How an API reports what is wrong with a field. `unknown`: that it has no such field. */
export type Wording = {
  refusal: (path: string, fault: string) => ApiError
  unknown: (path: string) => ApiError
  /** That a document that is no text is not priced. */
  noText: (path: string) => ApiError
  tooManyAddresses: (most: number) => ApiError
}

/** How much of a field's name an error repeats, in characters: the client chose it. */
const MAX_NAME = 200

/** The fields that pass: free ones, and those that the model's upstreams allow. @throws ApiError for all others */
export function passingFields(
  body: Fields,
  allowed: ReadonlySet<string>,
  { free, dearer, freeValues }: FieldKinds,
  wording: Wording,
): Fields {
  const isFree = (name: string, value: unknown): boolean =>
    (freeValues[name] ?? []).includes(value) || (Array.isArray(value) && value.length === 0)
  const passing: Fields = {}
  for (const [name, value] of Object.entries(body)) {
    // Absent, as clients mean it: upstreams differ in how they take it.
    if (value === null) continue
    if (free.has(name) || allowed.has(name)) passing[name] = value
    else if (!Object.hasOwn(dearer, name)) throw wording.unknown(name.slice(0, MAX_NAME))
    else if (!isFree(name, value)) throw wording.refusal(name, `is not available for this model: ${dearer[name]!}.`)
  }
  return passing
}

/** @throws ApiError that names the first field at fault */
export function requireShape(schema: z.ZodType, fields: Fields, wording: Wording): void {
  const parsed = schema.safeParse(fields, { error: faultOf })
  if (parsed.success) return
  const issue = parsed.error.issues[0]!
  const unknown = issue.code === 'unrecognized_keys' ? [issue.keys[0]!] : []
  const path = [...issue.path, ...unknown].map(String).join('.').slice(0, MAX_NAME)
  throw unknown.length > 0 ? wording.unknown(path) : wording.refusal(path, issue.message)
}

const faultOf: z.core.$ZodErrorMap = (issue) =>
  issue.input === undefined && issue.code !== 'custom' && issue.code !== 'unrecognized_keys'
    ? 'Field required'
    : fieldFault(issue)

/** How many omitted tools are named: their names go into a header, which clients bound. */
const MOST_NAMED = 20

/** The names of tools, or their types, each once. */
export const droppedNames = (tools: readonly Fields[]): string[] =>
  [...new Set(tools.map(({ name, type }) => String(name ?? type)))].slice(0, MOST_NAMED)
