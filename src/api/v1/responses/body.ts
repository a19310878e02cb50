/**
 * Checks the body of a request of the Responses API: its fields by their kinds, then its shape, then what stands in it.
 */
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { MOST, responsesBody } from '../../../shared/chat/responses/body.ts'
import { outputOf } from '../../../shared/chat/responses/estimate.ts'
import { DEARER_FIELDS, FREE_FIELDS, FREE_VALUES, isHosted } from '../../../shared/chat/responses/fields.ts'
import type { Part } from '../../../shared/chat/responses/parts.ts'
import {
  addressesIn,
  isBinary,
  itemsOf,
  partCount,
  partsOf,
  tokensOf,
  toolsOf,
} from '../../../shared/chat/responses/parts.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { imageUrlProblem } from '../../../shared/requests/addresses.ts'
import { MAX_ADDRESSES } from '../../../shared/chat/completions/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import type { FieldKinds, Wording } from '../../../shared/chat/field-kinds.ts'
import { MOST_NAMED, droppedNames, passingFields, requireShape } from '../../../shared/chat/field-kinds.ts'
import { requireVendorsItems } from './vendors-items.ts'

/** What a model decides of a body. */
export type Rules = Pick<ChatModel, 'maxOutputTokens' | 'partTokens'> & {
  upstreams: readonly Pick<ChatModel['upstreams'][number], 'allow'>[]
}

/** What is asked for, and the tools of upstreams that were left out of it, by their names. */
export type Checked = { request: ChatRequest; droppedTools: string[] }

/** A refusal in the words of the API: the path of the field and what is wrong with it. */
export const refusal = (param: string, fault: string): ApiError =>
  new ApiError('invalid_request', { param, message: `Invalid '${param}': ${fault}` })

const KINDS: FieldKinds = { free: FREE_FIELDS, dearer: DEARER_FIELDS, freeValues: FREE_VALUES }

const WORDING: Wording = {
  refusal,
  unknown: (param) => new ApiError('invalid_request', { param, message: `Unknown parameter: '${param}'.` }),
}

/**
 * The job's request of a valid body: as it came, but for tools that may not pass and the name of its limit.
 * @throws ApiError invalid_request that names the field.
 */
export function parseResponses(body: JsonObject, model: Rules): Checked {
  const allowed = new Set(model.upstreams.flatMap(({ allow }) => allow))
  const fields = passingFields(body, allowed, KINDS, WORDING)
  if (partCount(fields) > MOST.partsInAll) throw refusal('input', `must have at most ${MOST.partsInAll} parts in all.`)
  requireShape(responsesBody, fields, WORDING)
  if (
    isText(asFields(fields.reasoning).mode) &&
    !allowed.has('reasoning.mode') &&
    asFields(fields.reasoning).mode !== 'default'
  )
    throw refusal('reasoning.mode', 'is not available for this model: it is billed at a price of its own.')
  const isBackground = fields.background === true
  if (isBackground && fields.stream === true)
    throw refusal('background', 'what is streamed cannot be in the background.')
  requireParts(fields, model)
  requireVendorsItems(itemsOf(fields), refusal)
  const { maxOutputTokens: most } = model
  const { max_output_tokens: asked, ...rest } = fields as Fields & { max_output_tokens?: number | null }
  if (most !== undefined && (asked ?? 0) > most)
    throw refusal('max_output_tokens', `${asked} is above ${most}, the most output tokens of ${String(body.model)}.`)
  const { kept, dropped } = withoutHosted(rest)
  const request = { ...kept, messages: [], max_tokens: outputOf(asked, model) }
  // As a stream that nobody reads: one that is cancelled costs what was made of it until then.
  return { request: isBackground ? { ...request, stream: true } : request, droppedTools: dropped }
}

/** @throws ApiError for an address that must not be fetched, or a file that the model does not price */
function requireParts(fields: Fields, model: Rules): void {
  if (addressesIn(fields).length > MAX_ADDRESSES)
    throw refusal('input', `at most ${MAX_ADDRESSES} addresses are permitted.`)
  for (const part of partsOf(fields)) requirePart(part, model)
}

function requirePart(part: Part, model: Rules): void {
  const { fields, path } = part
  if (isBinary(part) && tokensOf(part, model) === null)
    throw refusal(path, 'files that are no text are not supported by this model.')
  const field = fields.type === 'input_image' ? 'image_url' : 'file_url'
  const url = fields[field]
  const problem = isText(url) || field === 'image_url' ? imageUrlProblem(String(url)) : null
  if (problem !== null) throw refusal(`${path}.${field}`, problem)
}

/**
 * The request without the tools that its upstream would run, and bill by their use.
 * @throws ApiError where such a tool is to be called
 */
function withoutHosted(fields: Fields): { kept: Fields; dropped: string[] } {
  const hosted = [...listOf(fields.tools), ...itemsOf(fields).flatMap(({ tools }) => listOf(tools))].filter(isHosted)
  if (hosted.length === 0) return { kept: fields, dropped: [] }
  const dropped = droppedNames(hosted).slice(0, MOST_NAMED)
  const { type } = asFields(fields.tool_choice)
  if (isText(type) && isHosted({ type }) && type !== 'allowed_tools')
    throw refusal('tool_choice', `${type} runs at the upstream and is not available for this model.`)
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

const clientTools = (tools: unknown): Fields[] => listOf(tools).filter((tool) => !isHosted(tool))
