/** Checks the body of a request of the Responses API: its fields by their kinds, then its shape, then its contents. */
import { ApiError } from '../../platform/errors.ts'
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { BodyRules, Checked, Wording } from '../check-body.ts'
import { allowedBy, droppedNames, passingFields, requireShape } from '../check-body.ts'
import { requireParts } from '../parts.ts'
import { outputOf } from './estimate.ts'
import { CLIENTS_NOTE, FIELDS, MODE, MOST, isHosted, responsesBody } from './fields.ts'
import { itemsOf, partCount, partsOf, toolsOf } from './parts.ts'

/** A refusal in the words of the API: the path of the field and what is wrong with it. */
export const refusal = (param: string, fault: string): ApiError =>
  new ApiError('invalid_request', { param, message: `Invalid '${param}': ${fault}` })

const WORDING: Wording = {
  refusal,
  unknown: (param) => new ApiError('invalid_request', { param, message: `Unknown parameter: '${param}'.` }),
  noText: (path) => refusal(path, 'files that are no text are not supported by this model.'),
  tooManyAddresses: (most) => refusal('input', `at most ${most} addresses are permitted.`),
}

/**
 * The job's request of a valid body: as it came, but for tools that may not pass and the name of its limit.
 * @throws ApiError invalid_request that names the field.
 */
export function checkResponses(body: Fields, model: BodyRules): Checked {
  const allowed = allowedBy(model)
  const fields = passingFields(body, allowed, FIELDS, WORDING)
  if (partCount(fields) > MOST.partsInAll) throw refusal('input', `must have at most ${MOST.partsInAll} parts in all.`)
  requireShape(responsesBody, fields, WORDING)
  if (isText(asFields(fields.reasoning).mode) && !allowed.has(MODE) && asFields(fields.reasoning).mode !== 'default')
    throw refusal(MODE, 'is not available for this model: it is billed at a price of its own.')
  const isBackground = fields.background === true
  if (isBackground && fields.stream === true)
    throw refusal('background', 'what is streamed cannot be in the background.')
  requireParts(partsOf(fields), model, WORDING)
  requireVendorsItems(itemsOf(fields))
  const { maxOutputTokens: most } = model
  const { max_output_tokens: asked, ...rest } = fields as Fields & { max_output_tokens?: number | null }
  if (most !== undefined && (asked ?? 0) > most)
    throw refusal('max_output_tokens', `${asked} is above ${most}, the most output tokens of ${String(body.model)}.`)
  const { kept, dropped } = withoutHosted(withoutNotes(rest))
  const request = { ...kept, messages: [], max_tokens: outputOf(asked, model) }
  // As a stream that nobody reads: one that is cancelled costs what was made of it until then.
  return { request: isBackground ? { ...request, stream: true } : request, droppedTools: dropped }
}

/** The request without what a client notes on its items for its vendor. */
function withoutNotes(fields: Fields): Fields {
  if (!listOf(fields.input).some((item) => CLIENTS_NOTE in item)) return fields
  return { ...fields, input: listOf(fields.input).map(({ [CLIENTS_NOTE]: _note, ...item }) => item) }
}

/**
 * The request without the tools that its upstream would run, and bill by their use.
 * @throws ApiError if the choice of tools requires one
 */
function withoutHosted(body: Fields): { kept: Fields; dropped: string[] } {
  const fields = withClientsChoice(body)
  const hosted = [...listOf(fields.tools), ...itemsOf(fields).flatMap(({ tools }) => listOf(tools))].filter(isHosted)
  if (hosted.length === 0) return { kept: fields, dropped: [] }
  const dropped = droppedNames(hosted)
  const { tools, tool_choice: choice, input, ...rest } = fields
  const left = clientTools(tools)
  const items = itemsOf(fields).map((item) =>
    Array.isArray(item.tools) ? { ...item, tools: clientTools(item.tools) } : item,
  )
  const hasTools = toolsOf({ input: items, tools: left }).length > 0
  if (!hasTools && choice === 'required')
    throw refusal('tool_choice', 'the tools of this request run at the upstream and are not available for this model.')
  return {
    kept: {
      ...rest,
      input: Array.isArray(input) ? items : input,
      ...(left.length > 0 && { tools: left }),
      ...(hasTools && choice !== undefined && { tool_choice: choice }),
    },
    dropped,
  }
}

/**
 * The request with a choice among tools that its client runs alone.
 * @throws ApiError if the choice requires one that its upstream would run, or is of a type that is not known
 */
function withClientsChoice(fields: Fields): Fields {
  const { type, mode, tools } = asFields(fields.tool_choice)
  const isAmong = type === 'allowed_tools'
  if (!isText(type) || (!isAmong && !isHosted({ type }))) return fields
  const left = clientTools(tools)
  if (isAmong && left.length === listOf(tools).length) return fields
  if (!isAmong || (left.length === 0 && mode === 'required'))
    throw refusal('tool_choice', `${isAmong ? 'what is required' : type} is not available for this model.`)
  return { ...fields, tool_choice: left.length > 0 ? { ...asFields(fields.tool_choice), tools: left } : 'none' }
}

const clientTools = (tools: unknown): Fields[] => listOf(tools).filter((tool) => !isHosted(tool))

/** What a change of the configuration must not set, at any depth: what decides the charge, and what is dearer. */
const HELD_FOR: ReadonlySet<string> = new Set([
  ...Object.keys(FIELDS.dearer),
  'model',
  'mode',
  'max_output_tokens',
  'max_tokens',
  'n',
])

/** Finds what is wrong with a field of an object; null where nothing is. */
type Judge = (name: string, value: unknown, depth: number) => string | null

/**
 * Items of which only their vendor knows the form: what earlier turns searched for and ran, and changes of the
 * configuration. Nothing in them may run at the upstream, or be billed at a price of its own.
 * @throws ApiError with the path of the first field at fault
 */
function requireVendorsItems(items: readonly Fields[]): void {
  for (const [at, item] of items.entries()) {
    const judge = JUDGES[String(item.type)]
    const found = judge && faultIn(item, judge, `input.${at}`)
    if (found) throw refusal(found.path, found.fault)
  }
}

/** Tools deeper in an item are not removed from it, as those of its own are. */
const ofTools: Judge = (name, value, depth) =>
  depth > 0 && name === 'tools' && Array.isArray(value) && value.some((tool) => isHosted((tool ?? {}) as Fields))
    ? 'tools that run at the upstream are not available for this model.'
    : null

const ofConfiguration: Judge = (name, value, depth) =>
  HELD_FOR.has(name) && value !== null
    ? 'is not available in a change of the configuration.'
    : ofTools(name, value, depth)

const JUDGES: Readonly<Record<string, Judge>> = {
  tool_search_call: ofTools,
  tool_search_output: ofTools,
  configuration_update: ofConfiguration,
}

function faultIn(value: unknown, judge: Judge, path: string, depth = 0): { path: string; fault: string } | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [name, one] of Object.entries(value)) {
    // The tools of an item have a schema of their own.
    if (depth === 0 && name === 'tools') continue
    const here = `${path}.${name}`
    const fault = judge(name, one, depth)
    const found = fault === null ? faultIn(one, judge, here, depth + 1) : { path: here, fault }
    if (found) return found
  }
  return null
}
