/**
 * What the bodies of several kinds of calls have in common, and the body of a video.
 */
import { z } from 'zod'
import { RESOLUTION } from '../../../shared/catalogue/price-schema.ts'
import { hasAtMost } from '../../../shared/platform/text-fields.ts'
import { plainImageUrl } from '../../../shared/media/media.ts'
import { imageUrlProblem } from '../../../shared/requests/addresses.ts'
import { chatOptions } from '../../../shared/chat/completions/fields.ts'
import { chatMessages } from '../../../shared/chat/completions/messages.ts'
import { optional } from '../../../shared/requests/field-schemas.ts'
import { MAX_PROMPT, MAX_SECONDS } from '../../../shared/requests/media-options.ts'

/** The `model` of a body. */
export const modelId = z
  .string()
  .min(1)
  .max(200)
  .meta({ description: 'A model id of GET /v1/models that belongs to this endpoint.' })

/** The lists of models that chats may have, by their fields. */
export const MODEL_LISTS = {
  models: z.array(modelId).min(2).max(4).meta({ description: '2 to 4 models, in the order in which they are asked.' }),
  fallbacks: z
    .array(z.strictObject({ model: modelId }))
    .min(1)
    .max(3)
    .meta({ description: '1 to 3 models that are asked where `model` cannot answer.' }),
}

/** What is wrong with the length of a prompt, which is limited in code points; null if nothing is. */
export const promptFault = (text: string, most: number): string | null =>
  hasAtMost(text, most) ? null : `must be at most ${most.toLocaleString('en-US')} characters`

/** What is to be made, limited in code points. */
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

/** The body of a chat, for the documentation; `check.ts` checks it piece by piece. */
export const chatBody = z
  .object({ model: modelId, models: MODEL_LISTS.models.nullish(), messages: chatMessages, ...chatOptions.shape })
  .meta({ id: 'ChatRequest' })
