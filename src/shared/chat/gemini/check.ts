/**
 * Checks the body of a request of Gemini's API: its fields by their kinds, then its shape, then its contents. Refusals
 * are in the words of the API.
 */
import { ApiError } from '../../platform/errors.ts'
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { BodyRules, Checked, Wording } from '../check-body.ts'
import { allowedBy, passingFields, requireShape } from '../check-body.ts'
import { requireParts } from '../parts.ts'
import { outputOf } from '../responses/estimate.ts'
import { FIELDS, MOST, dearerIn, geminiBody, hostedIn } from './fields.ts'
import { camelCased } from './names.ts'
import { functionsOf, partCount, partsOf } from './parts.ts'

/** A refusal in the words of the API: the path of the field and what is wrong with it. */
export const refusal = (param: string, fault: string): ApiError =>
  new ApiError('invalid_request', { param, message: `Invalid value at '${param}': ${fault}` })

const unknown = (param: string): ApiError => {
  const [, parent = '', name = param] = /^(.*)\.([^.]*)$/.exec(param) ?? []
  const place = parent === '' ? '' : ` at '${parent}'`
  const message = `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`
  return new ApiError('invalid_request', { param, message })
}

const WORDING: Wording = {
  refusal,
  unknown,
  noText: (path) => refusal(path, 'files that are no text are not supported by this model.'),
  tooManyAddresses: (most) => refusal('contents', `at most ${most} addresses are permitted.`),
}

/**
 * The job's request of a valid body: as it came, under the names that the API writes, but for tools that may not pass.
 * Its limit is in `max_tokens`, whatever its configuration states.
 * @throws ApiError invalid_request that names the field.
 */
export function checkGemini(body: Fields, model: BodyRules): Checked {
  const allowed = allowedBy(model)
  const fields = passingFields(camelCased(body), allowed, FIELDS, WORDING)
  if (partCount(fields) > MOST.partsInAll)
    throw refusal('contents', `must have at most ${MOST.partsInAll} parts in all.`)
  requireShape(geminiBody, fields, WORDING)
  const hosted = hostedIn(fields.tools).filter((name) => !allowed.has(name))
  const dearer = dearerIn(fields).find((name) => !allowed.has(name) && !hosted.some((one) => one === name))
  if (dearer !== undefined)
    throw refusal(dearer, 'is not available for this model: it is billed at a price of its own.')
  requireRoles(listOf(fields.contents))
  requireParts(partsOf(fields), model, WORDING)
  requireChoice(fields)
  const kept = withoutTools(fields, hosted)
  const asked = asFields(fields.generationConfig).maxOutputTokens as number | null | undefined
  const { maxOutputTokens: most } = model
  if (most !== undefined && (asked ?? 0) > most)
    throw refusal(
      'generationConfig.maxOutputTokens',
      `${asked} is above ${most}, the most output tokens of ${String(body.model)}.`,
    )
  return { request: { ...kept, messages: [], max_tokens: outputOf(asked, model) }, droppedTools: hosted }
}

/** The parts that only one side may have, and the role of that. */
const ROLES: Readonly<Record<string, 'model' | 'user'>> = { functionCall: 'model', functionResponse: 'user' }

/** @throws ApiError for a part in a content of the other side */
function requireRoles(contents: readonly Fields[]): void {
  for (const [at, { role, parts }] of contents.entries()) {
    const side = role === 'model' ? 'model' : 'user'
    for (const [index, part] of listOf(parts).entries()) {
      const odd = Object.keys(ROLES).find((name) => (part[name] ?? null) !== null && ROLES[name] !== side)
      if (odd !== undefined)
        throw refusal(`contents.${at}.parts.${index}`, `${odd} can only be in contents of the role ${ROLES[odd]}.`)
    }
  }
}

/** @throws ApiError for names of functions that are not offered, and for a choice that has no use for names */
function requireChoice(fields: Fields): void {
  const { mode, allowedFunctionNames: names } = asFields(asFields(fields.toolConfig).functionCallingConfig)
  if (!Array.isArray(names) || names.length === 0) return
  const path = 'toolConfig.functionCallingConfig.allowedFunctionNames'
  if (!/^(ANY|VALIDATED)$/i.test(String(mode))) throw refusal(path, 'can only be set with the modes ANY and VALIDATED.')
  const offered = new Set(functionsOf(fields).map(({ name }) => name))
  const missing = names.filter(isText).find((name) => !offered.has(name))
  if (missing !== undefined) throw refusal(path, `${missing} is no function of tools.`)
}

/**
 * The request without the tools that its upstream would run, and bill by their use.
 * @throws ApiError if the choice of tools requires one
 */
function withoutTools(fields: Fields, hosted: readonly string[]): Fields {
  if (hosted.length === 0) return fields
  const { tools, toolConfig, ...rest } = fields
  const left = listOf(tools).flatMap((tool) => {
    const kept = Object.entries(tool).filter(([name]) => !hosted.includes(name))
    return kept.length > 0 ? [Object.fromEntries(kept)] : []
  })
  const { mode } = asFields(asFields(toolConfig).functionCallingConfig)
  if (left.length === 0 && /^ANY$/i.test(String(mode)))
    throw refusal(
      'toolConfig.functionCallingConfig.mode',
      `${hosted[0]} runs at the upstream and is not available for this model.`,
    )
  return left.length === 0 ? rest : { ...rest, tools: left, ...(toolConfig !== undefined && { toolConfig }) }
}
