/**
 * Checks the body of a request of the Messages API: its fields by their kinds, then its shape, then what stands in it.
 * Refusals are in the words of the API.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { MOST, countedBody, messagesBody } from '../../../shared/chat/messages/body.ts'
import {
  BETAS,
  DEARER_FIELDS,
  FREE_EDITS,
  FREE_FIELDS,
  FREE_VALUES,
  hostedChange,
  isHosted,
} from '../../../shared/chat/messages/fields.ts'
import { LONG_CACHES, longCacheIn } from '../../../shared/chat/messages/cache-marks.ts'
import type { Part } from '../../../shared/chat/messages/parts.ts'
import { blockCount, isBinary, partsOf, tokensOf } from '../../../shared/chat/messages/parts.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { imageUrlProblem } from '../../../shared/requests/addresses.ts'
import { MAX_ADDRESSES } from '../../../shared/chat/completions/fields.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import type { FieldKinds, Wording } from '../../../shared/chat/field-kinds.ts'
import { MOST_NAMED, droppedNames, passingFields, requireShape } from '../../../shared/chat/field-kinds.ts'

/** What a model decides of a body. */
export type Rules = Pick<ChatModel, 'maxOutputTokens' | 'partTokens'> & {
  upstreams: readonly Pick<ChatModel['upstreams'][number], 'allow'>[]
}

/** What is asked for, and the tools of upstreams that were left out of it, by their names. */
export type Checked = { request: ChatRequest; droppedTools: string[]; betas: string[] }

/**
 * The job's request of a valid body: as it came, but for tools and fields that may not pass.
 * @throws ApiError invalid_request that names the field.
 */
export const parseMessages = (body: JsonObject, model: Rules, headers: IncomingHttpHeaders = {}): Checked =>
  checked(body, model, headers, messagesBody)

/** The same of a body whose input is to be counted: it needs no `max_tokens`. */
export function parseCounted(body: JsonObject, model: Rules, headers: IncomingHttpHeaders): Checked {
  const { request, ...more } = checked(body, model, headers, countedBody)
  return { ...more, request: { ...request, max_tokens: request.max_tokens ?? 1 } }
}

function checked(body: JsonObject, model: Rules, headers: IncomingHttpHeaders, schema: z.ZodType): Checked {
  const allowed = new Set(model.upstreams.flatMap(({ allow }) => allow))
  const fields = passingFields(body, allowed, KINDS, WORDING)
  if (blockCount(fields.messages) > MOST.blocksInAll)
    throw refusal('messages', `must have at most ${MOST.blocksInAll} blocks in all`)
  requireShape(schema, fields, WORDING)
  requireCheap(fields, allowed)
  requireParts(fields, model)
  const { kept, dropped } = toolsOf(fields)
  const { maxOutputTokens: most } = model
  const asked = fields.max_tokens as number | undefined
  if (most !== undefined && asked !== undefined && asked > most) {
    throw refusal(
      'max_tokens',
      `${asked} > ${most}, which is the maximum allowed number of output tokens for ${String(body.model)}`,
    )
  }
  return { request: kept as ChatRequest, droppedTools: dropped, betas: betasIn(headers) }
}

/** A refusal in the words of the API: the path of the field and what is wrong with it. */
function refusal(param: string, fault: string): ApiError {
  return new ApiError('invalid_request', { param, message: `${param}: ${fault}` })
}

const KINDS: FieldKinds = { free: FREE_FIELDS, dearer: DEARER_FIELDS, freeValues: FREE_VALUES }

const WORDING: Wording = { refusal, unknown: (path) => refusal(path, 'Extra inputs are not permitted') }

/** @throws ApiError for what an upstream would bill separately, deeper in the body */
function requireCheap(fields: Fields, allowed: ReadonlySet<string>): void {
  if (!allowed.has(LONG_CACHES)) {
    const path = longCacheIn(fields)
    if (path !== null) throw refusal(path, "is not available for this model: only a ttl of '5m' is.")
  }
  const { edits } = asFields(fields.context_management)
  const odd = (Array.isArray(edits) ? edits : []).findIndex(({ type }: Fields) => !FREE_EDITS.test(String(type)))
  if (odd >= 0) throw refusal(`context_management.edits.${odd}.type`, 'is not available for this model.')
  const changed = hostedChange(fields as Pick<ChatRequest, 'messages'>)
  if (changed !== null) throw refusal(changed, 'runs at the upstream and is not available for this model.')
}

/** @throws ApiError for an address that must not be fetched, or a document that the model does not price */
function requireParts(fields: Fields, model: Rules): void {
  const parts = partsOf(fields as Pick<ChatRequest, 'messages'>)
  if (parts.filter(({ source }) => source.type === 'url').length > MAX_ADDRESSES)
    throw refusal('messages', `at most ${MAX_ADDRESSES} addresses are permitted`)
  for (const part of parts) requirePart(part, model)
}

function requirePart(part: Part, model: Rules): void {
  const { source, path } = part
  if (isBinary(part) && tokensOf(part, model) === null)
    throw refusal(`${path}.source`, 'documents that are no text are not supported by this model')
  const url = source.type === 'url' ? String(source.url) : null
  const data =
    source.type === 'base64' && part.kind === 'image'
      ? `data:${String(source.media_type)};base64,${String(source.data)}`
      : null
  const problem = url === null && data === null ? null : imageUrlProblem(url ?? data!)
  if (problem !== null) throw refusal(`${path}.source${url === null ? '' : '.url'}`, problem)
}

/**
 * The request without the tools that its upstream would run, and bill by their use.
 * @throws ApiError where such a tool is to be called
 */
function toolsOf(fields: Fields): { kept: Fields; dropped: string[] } {
  const { tools, tool_choice: choice } = fields
  const hosted = (Array.isArray(tools) ? (tools as Fields[]) : []).filter(isHosted)
  if (hosted.length === 0) return { kept: fields, dropped: [] }
  const dropped = droppedNames(hosted)
  const others = (tools as Fields[]).filter((tool) => !isHosted(tool))
  const { type, name } = asFields(choice)
  const forced = type === 'any' && others.length === 0 ? dropped[0] : type === 'tool' ? name : undefined
  if (typeof forced === 'string' && dropped.includes(forced))
    throw refusal('tool_choice', `${forced} runs at the upstream and is not available for this model.`)
  const { tools: _tools, tool_choice: _choice, ...rest } = fields
  return {
    kept: others.length > 0 ? { ...fields, tools: others } : rest,
    dropped: dropped.slice(0, MOST_NAMED),
  }
}

/** The betas that may pass. */
const betasIn = ({ 'anthropic-beta': named }: IncomingHttpHeaders): string[] =>
  String(named ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => BETAS.has(name))
