/**
 * The bodies of the three calls: one schema a boundary, and the order in which their faults are answered
 * (docs/api/errors.md#the-order-of-checks: model, then prompt or messages, then other fields).
 */
import { z } from 'zod'
import type { ErrorCode } from '../../../shared/platform/errors.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { RESOLUTION } from '../../../shared/catalogue/price-schema.ts'
import { hasAtMost } from '../../../shared/platform/code-points.ts'
import { aboutField, fieldFault, fieldPath } from '../../../shared/platform/field-errors.ts'
import { plainImageUrl } from '../../../shared/media/media.ts'
import { imageUrlProblem } from '../../../shared/requests/addresses.ts'
import { NEEDS_ALLOW, isBilled } from '../../../shared/requests/billed-fields.ts'
import { chatOptions } from '../../../shared/chat/completions/fields.ts'
import { chatMessages } from '../../../shared/chat/completions/messages.ts'
import { optional } from '../../../shared/requests/field-schemas.ts'
import { MAX_PROMPT, MAX_SECONDS } from '../../../shared/requests/media-options.ts'
import type { JsonObject } from '../../middleware/json-body.ts'

/** The `model` of a body. */
export const modelId = z
  .string()
  .min(1)
  .max(200)
  .meta({ description: 'A model id of GET /v1/models that belongs to this endpoint.' })

/** What is wrong with the length of a prompt of at most so many code points; null where that is nothing. */
export const promptFault = (text: string, most: number): string | null =>
  hasAtMost(text, most) ? null : `must be at most ${most.toLocaleString('en-US')} characters`

/** What is to be made, in at most so many code points. */
export const promptOf = (most: number) =>
  z
    .string()
    .refine((text) => text.trim() !== '', 'must not be empty')
    .superRefine((text, context) => {
      const fault = promptFault(text, most)
      if (fault !== null) context.addIssue({ code: 'custom', message: fault })
    })

/** The address of a picture, or a `data:` URI. */
export const imageUrl = z
  .string()
  .superRefine((url, context) => {
    const problem = imageUrlProblem(url)
    if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  })
  .overwrite(plainImageUrl)
  .meta({ description: 'http(s) address or data: image. Private addresses are refused.' })

/** A resolution of a picture or a video. */
export const resolution = z.string().regex(RESOLUTION, 'must be at most 32 letters, digits, colons and hyphens')

/** The body of a video call. Unknown fields are ignored, and never passed on. */
export const videoBody = z
  .object({
    model: modelId,
    prompt: promptOf(MAX_PROMPT).meta({ description: 'At most 2,000 characters.' }),
    image_url: optional(imageUrl),
    resolution: optional(resolution),
    duration: optional(z.number().gt(0).lte(MAX_SECONDS)).meta({ description: 'Seconds; one that the model offers.' }),
  })
  .meta({ id: 'VideoRequest' })

/** The body of a chat, for the documentation; `chat-body.ts` checks it piece by piece. */
export const chatBody = z
  .object({ model: modelId, messages: chatMessages, ...chatOptions.shape })
  .meta({ id: 'ChatRequest' })

/** The fields whose faults have codes of their own, in the order in which they are answered. */
const OWN_CODES = [
  ['model', 'unsupported_model'],
  ['prompt', 'invalid_prompt'],
  ['messages', 'invalid_messages'],
] as const

/**
 * Parses a body. The model's fault comes first whatever else is wrong, so the caller has checked the model before.
 * @param ownCodes the fields whose faults are no `invalid_request`
 * @throws ApiError unsupported_model, invalid_prompt, invalid_messages, or invalid_request that names the field.
 */
export function parseBody<S extends z.ZodType>(
  schema: S,
  body: JsonObject,
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
  throw new ApiError('invalid_request', { param: fieldPath(issue.path), message: sentenceOf(issue) })
}

const isMissing = (value: unknown): boolean => !Array.isArray(value) || value.length === 0

const sentenceOf = ({ path, message }: { path: PropertyKey[]; message: string }): string =>
  aboutField(fieldPath(path), message)

/** How much of a field's name an error repeats, in characters: the client chose it. */
const MAX_PARAM = 200

/** The refusal of a field that is on no list: one that is billed could be allowed. */
export function unknownFieldError(path: PropertyKey[]): ApiError {
  const param = fieldPath(path).slice(0, MAX_PARAM)
  const message = aboutField(param, isBilled(param) ? NEEDS_ALLOW : 'is not a known field')
  return new ApiError('invalid_request', { param, message })
}
