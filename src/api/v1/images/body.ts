/**
 * The body of an image call: Tollgate's own fields, and OpenAI's. Each is sent on or refused; fields in neither
 * list are ignored and never passed on.
 */
import { z } from 'zod'
import { optional } from '../../../shared/requests/field-schemas.ts'
import { MAX_PICTURES, MAX_STATED_PROMPT } from '../../../shared/requests/media-options.ts'
import { formNumber } from '../../forms/declared-form.ts'
import { imageUrl, modelId, promptOf, resolution } from '../calls/call-schemas.ts'

const word = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be a word of at most 64 letters, digits, ".", "_" and "-"')

const count = z.int().min(1).max(MAX_PICTURES)
const compression = z.int().min(0).max(100)
const partial = z.literal(0, 'must be 0: there are no streams of partial images')
const unstreamed = z.literal(false, 'must be false: there are no streams of partial images')

const described = {
  n: { description: `How many pictures, 1 to ${MAX_PICTURES}; those that are delivered are charged.` },
  stream: { description: 'Streams of partial images are refused.' },
}

/** The body of an image call. */
export const imageBody = z
  .object({
    model: modelId,
    prompt: promptOf(MAX_STATED_PROMPT).meta({
      description: 'At most 2,000 characters, or what the model states as `maxPromptLength`.',
    }),
    image_url: optional(imageUrl),
    resolution: optional(resolution).meta({
      description: 'One that the model offers. It means the same as `size`: both together are refused.',
    }),
    n: optional(count).meta(described.n),
    size: optional(resolution).meta({ description: 'Width and height, one that the model offers, or `auto`.' }),
    quality: optional(word).meta({ description: 'One that the model offers, or `auto`.' }),
    background: optional(z.enum(['transparent', 'opaque', 'auto'])),
    output_format: optional(z.enum(['png', 'jpeg', 'webp'])),
    output_compression: optional(compression),
    moderation: optional(z.enum(['low', 'auto'])),
    style: optional(word),
    input_fidelity: optional(z.enum(['low', 'high'])).meta({
      description: 'Of an edit. `high` only where the operator allows it, because upstreams bill it as more input.',
    }),
    seed: optional(z.int()),
    user: optional(z.string().max(512)),
    response_format: optional(z.enum(['url', 'b64_json'])).meta({
      description: 'Whether the answer has the addresses of the pictures (`url`, if absent) or their bytes.',
    }),
    stream: optional(unstreamed).meta(described.stream),
    partial_images: optional(partial),
  })
  .meta({ id: 'ImageRequest' })

/** Those of its fields that are no texts, as forms write them. */
export const formFields = {
  n: optional(formNumber(count)).meta(described.n),
  output_compression: optional(formNumber(compression)),
  seed: optional(formNumber(z.int())),
  stream: optional(z.preprocess((text) => (text === 'false' ? false : text), unstreamed)).meta(described.stream),
  partial_images: optional(formNumber(partial)),
}
