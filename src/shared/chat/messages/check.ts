/**
 * Checks the body of a request of the Messages API: its fields by their kinds, then its shape, then its contents.
 * Refusals are in the words of the API.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import { ApiError } from '../../platform/errors.ts'
import { asFields, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { BodyRules, Checked, Wording } from '../check-body.ts'
import { allowedBy, droppedNames, passingFields, requireShape } from '../check-body.ts'
import { requireParts } from '../parts.ts'
import { LONG_CACHES, longCacheIn } from './cache-marks.ts'
import { BETAS, FIELDS, FREE_EDITS, MOST, countedBody, hostedChange, isHosted, messagesBody } from './fields.ts'
import { blockCount, partsOf } from './parts.ts'

/**
 * The job's request of a valid body: as it came, but for tools and fields that may not pass.
 * @throws ApiError invalid_request that names the field.
 */
export const checkMessages = (body: Fields, model: BodyRules, headers: IncomingHttpHeaders = {}): Checked =>
  checked(body, model, headers, messagesBody)

/** The same of a body whose input is to be counted: it needs no `max_tokens`. */
export function checkCounted(body: Fields, model: BodyRules, headers: IncomingHttpHeaders): Checked {
  const { request, ...more } = checked(body, model, headers, countedBody)
  return { ...more, request: { ...request, max_tokens: request.max_tokens ?? 1 } }
}

function checked(body: Fields, model: BodyRules, headers: IncomingHttpHeaders, schema: z.ZodType): Checked {
  const allowed = allowedBy(model)
  const fields = passingFields(body, allowed, FIELDS, WORDING)
  if (blockCount(fields.messages) > MOST.blocksInAll)
    throw refusal('messages', `must have at most ${MOST.blocksInAll} blocks in all`)
  requireShape(schema, fields, WORDING)
  requireCheap(fields, allowed)
  requireRoles(fields as Body)
  requireParts(partsOf(fields as Body), model, WORDING)
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
export const refusal = (param: string, fault: string): ApiError =>
  new ApiError('invalid_request', { param, message: `${param}: ${fault}` })

const WORDING: Wording = {
  refusal,
  unknown: (path) => refusal(path, 'Extra inputs are not permitted'),
  noText: (path) => refusal(path, 'documents that are no text are not supported by this model'),
  tooManyAddresses: (most) => refusal('messages', `at most ${most} addresses are permitted`),
}

type Body = Pick<ChatRequest, 'messages'>

/** The blocks that only one side may say. */
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ['tool_use', 'assistant'],
  ['thinking', 'assistant'],
  ['redacted_thinking', 'assistant'],
  ['tool_result', 'user'],
])

/** @throws ApiError for a block in a turn of the other side */
function requireRoles({ messages }: Body): void {
  for (const [at, { role, content }] of messages.entries()) {
    for (const [index, { type }] of listOf(content).entries()) {
      const only = ROLES.get(type) ?? role
      if (only === role) continue
      throw refusal(`messages.${at}.content.${index}`, `\`${String(type)}\` blocks can only be in \`${only}\` messages`)
    }
  }
}

/** @throws ApiError for what an upstream would bill separately, deeper in the body */
function requireCheap(fields: Fields, allowed: ReadonlySet<string>): void {
  if (!allowed.has(LONG_CACHES)) {
    const path = longCacheIn(fields)
    if (path !== null) throw refusal(path, "is not available for this model: only a ttl of '5m' is.")
  }
  const { edits } = asFields(fields.context_management)
  const odd = (Array.isArray(edits) ? edits : []).findIndex(({ type }: Fields) => !FREE_EDITS.test(String(type)))
  if (odd >= 0) throw refusal(`context_management.edits.${odd}.type`, 'is not available for this model.')
  const changed = hostedChange(fields as Body)
  if (changed !== null) throw refusal(changed, 'runs at the upstream and is not available for this model.')
}

/**
 * The request without the tools that its upstream would run, and bill by their use.
 * @throws ApiError if the choice of tools requires one
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
  return { kept: others.length > 0 ? { ...fields, tools: others } : rest, dropped }
}

/** The betas that may pass. */
const betasIn = ({ 'anthropic-beta': named }: IncomingHttpHeaders): string[] =>
  String(named ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => BETAS.has(name))
