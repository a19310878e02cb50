/**
 * The body of an image call: Tollgate's own fields, and OpenAI's beside them. Each is sent on or refused; fields that
 * stand in neither list are ignored and never passed on.
 */
import { z } from 'zod'
import { optional } from '../../../shared/requests/field-schemas.ts'
import { MAX_PICTURES, MAX_STATED_PROMPT } from '../../../shared/requests/media-options.ts'
import { imageUrl, modelId, promptOf, resolution } from '../calls/call-schemas.ts'

const word = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be a word of at most 64 letters, digits, ".", "_" and "-"')

/** Fields of pictures and of their edits alike, but for those that say what is edited. */
export const pictureFields = {
  resolution: optional(resolution).meta({
    description: 'One that the model offers. Names what `size` names in other words: both together are refused.',
  }),
  n: optional(z.int().min(1).max(MAX_PICTURES)).meta({
    description: `How many pictures, 1 to ${MAX_PICTURES}; those that are delivered are charged.`,
  }),
  size: optional(resolution).meta({ description: 'Width and height, one that the model offers, or `auto`.' }),
  quality: optional(word).meta({ description: 'One that the model offers, or `auto`.' }),
  background: optional(z.enum(['transparent', 'opaque', 'auto'])),
  output_format: optional(z.enum(['png', 'jpeg', 'webp'])),
  output_compression: optional(z.int().min(0).max(100)),
  moderation: optional(z.enum(['low', 'auto'])),
  style: optional(word),
  seed: optional(z.int()),
  user: optional(z.string().max(512)),
  response_format: optional(z.enum(['url', 'b64_json'])).meta({
    description: 'Whether the answer has the addresses of the pictures (`url`, if absent) or their bytes.',
  }),
  stream: optional(z.literal(false, 'must be false: there are no streams of partial images')).meta({
    description: 'Streams of partial images are refused.',
  }),
  partial_images: optional(z.literal(0, 'must be 0: there are no streams of partial images')),
}

/** The body of an image call. */
export const imageBody = z
  .object({
    model: modelId,
    prompt: promptOf(MAX_STATED_PROMPT).meta({
      description: 'At most 2,000 characters, or what the model states as `maxPromptLength`.',
    }),
    image_url: optional(imageUrl),
    ...pictureFields,
    input_fidelity: optional(z.enum(['low', 'high'])).meta({
      description: 'Of an edit. `high` only where the operator allows it, because upstreams bill it as more input.',
    }),
  })
  .meta({ id: 'ImageRequest' })
