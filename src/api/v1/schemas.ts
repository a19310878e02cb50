/**
 * The bodies of the three calls: one schema a boundary, and the order in which their faults are answered
 * (contract section 4: model → prompt or messages → other fields).
 */
import { z } from 'zod'
import { ApiError } from '../../shared/errors.ts'
import { RESOLUTION } from '../../shared/catalogue.ts'
import { imageUrlProblem } from '../../shared/addresses.ts'
import { MAX_SECONDS } from '../../shared/calls/media-options.ts'
import { addressesOf } from '../../shared/calls/requests.ts'
import type { JsonObject } from '../middleware/json-body.ts'

/** Characters of a prompt, in code points (specification "Limits"). */
const MAX_PROMPT = 2000

/** Largest number of output tokens that may be asked for; a model's own `maxOutputTokens` lowers it. */
const MAX_TOKENS = 100_000_000

const model = z.string().min(1).max(200).meta({ description: 'A model id of GET /v1/models that belongs to this endpoint.' })

const codePoints = (text: string): number => Array.from(text).length

const prompt = z.string()
  .refine((text) => text.trim() !== '', 'is empty')
  .refine((text) => text.length <= 2 * MAX_PROMPT && codePoints(text) <= MAX_PROMPT, `has more than ${MAX_PROMPT} characters`)
  .meta({ description: 'At most 2000 characters.' })

const imageUrl = z.string().superRefine((url, context) => {
  const problem = imageUrlProblem(url)
  if (problem !== null) context.addIssue({ code: 'custom', message: problem })
}).meta({ description: 'http(s) address or data: image. Private addresses are refused.' })

const resolution = z.string().regex(RESOLUTION, 'has at most 32 characters of letters, digits, x, : and -')

/** A field that a client may also send as null, as OpenAI's do: the same as leaving it out. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)

export const imageBody = z.object({
  model, prompt, image_url: optional(imageUrl), resolution: optional(resolution),
}).meta({ id: 'ImageRequest' })

export const videoBody = z.object({
  model, prompt, image_url: optional(imageUrl), resolution: optional(resolution),
  duration: optional(z.number().gt(0).lte(MAX_SECONDS)).meta({ description: 'Seconds; one that the model offers.' }),
}).meta({ id: 'VideoRequest' })

const part = z.looseObject({ type: z.string().min(1) }).superRefine((value, context) => {
  if (value.type === 'text' && typeof value.text !== 'string') context.addIssue({ code: 'custom', message: 'a text part has a text' })
  if (value.type === 'image_url' && !hasAddress(value.image_url)) {
    context.addIssue({ code: 'custom', path: ['image_url'], message: 'an image part has an address' })
  }
})

const hasAddress = (value: unknown): boolean =>
  typeof (typeof value === 'object' && value !== null ? (value as { url?: unknown }).url : value) === 'string'

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const

const message = z.looseObject({ role: z.enum(ROLES), content: z.union([z.string(), z.array(part)]).nullish() })
  .superRefine((value, context) => {
    const mayBeSilent = value.role === 'assistant' && Array.isArray(value.tool_calls) && value.tool_calls.length > 0
    if ((value.content === null || value.content === undefined) && !mayBeSilent) {
      context.addIssue({ code: 'custom', path: ['content'], message: 'is required' })
    }
  })

const tokens = z.int().min(1).max(MAX_TOKENS)

export const chatBody = z.looseObject({
  model,
  messages: z.array(message).min(1),
  max_tokens: optional(tokens).meta({ description: 'Most output tokens; 1024 where absent.' }),
  max_completion_tokens: optional(tokens).meta({ description: 'The same as max_tokens.' }),
  temperature: optional(z.number().min(0).max(2)),
  n: optional(z.int().min(1).max(8)),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  tools: optional(z.array(z.looseObject({}))),
}).meta({ id: 'ChatRequest' })

/** The fields whose faults have codes of their own, in the order in which they are answered. */
const OWN_CODES = [['model', 'unsupported_model'], ['prompt', 'invalid_prompt'], ['messages', 'invalid_messages']] as const

/**
 * Parses a body. The model's fault comes first whatever else is wrong, so the caller checks with `modelOf` before.
 * @throws ApiError unsupported_model, invalid_prompt, invalid_messages, or invalid_request that names the field.
 */
export function parseBody<S extends z.ZodType>(schema: S, body: JsonObject): z.infer<S> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  for (const [field, code] of OWN_CODES) {
    const issue = issues.find((one) => one.path[0] === field)
    if (issue) throw new ApiError(code, { param: pathText(issue.path) })
  }
  const issue = issues[0]!
  throw new ApiError('invalid_request', { param: pathText(issue.path), message: `${pathText(issue.path)}: ${issue.message}` })
}

/** The `model` of a body, or an empty text where there is none: no model has that id. */
export const modelOf = (body: JsonObject): string => (typeof body.model === 'string' ? body.model : '')

/**
 * Checks the addresses in the parts of messages like any other `image_url`; data URIs of other media are the upstream's to
 * judge.
 * @throws ApiError invalid_request that names the part.
 */
export function checkAddresses(messages: z.infer<typeof chatBody>['messages']): void {
  messages.forEach((one, index) => {
    for (const { at, field, url } of addressesOf(one)) {
      const param = `messages[${index}].content[${at}].${field}`
      const isOtherData = field !== 'image_url' && typeof url === 'string' && /^data:/i.test(url)
      const problem = typeof url !== 'string' ? 'is required' : isOtherData ? null : imageUrlProblem(url)
      if (problem !== null) throw new ApiError('invalid_request', { param, message: `${param}: ${problem}` })
    }
  })
}

const pathText = (path: PropertyKey[]): string =>
  path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index ? '.' : ''}${String(step)}`)).join('')
