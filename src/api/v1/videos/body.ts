/**
 * The body of `POST /v1/videos`: OpenAI's names for what `/v1/videos/generations` is asked for.
 */
import { z } from 'zod'
import type { MediaModel } from '../../../shared/catalogue/catalogue.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { optional } from '../../../shared/requests/field-schemas.ts'
import { MAX_SECONDS, offeredResolutions } from '../../../shared/requests/media-options.ts'
import { uploadAddress } from '../../../shared/requests/requests.ts'
import { resolutionOfSize, sizeOf } from '../../../shared/requests/sizes.ts'
import type { DeclaredForm } from '../../forms/declared-form.ts'
import { FormFile } from '../../forms/form-file.ts'
import { pictureTypeOf } from '../../forms/picture-types.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { imageUrl, videoBody } from '../calls/call-schemas.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { AskedMedia } from './generations.ts'
import { mediaOrder } from './generations.ts'

const SECONDS = 'must be a number of seconds, such as "8"'

const seconds = z
  .union([z.number(), z.string().regex(/^\d{1,4}(\.\d{1,9})?$/)], { error: SECONDS })
  .refine((given) => Number(given) > 0 && Number(given) <= MAX_SECONDS, SECONDS)
  .meta({ description: 'One of the durations that the model offers: a text, as SDKs send it, or a number.' })

const size = z
  .string()
  .regex(/^\d{1,5}x\d{1,5}$/i, 'must be a width and a height in pixels, such as 1280x720')
  .meta({ description: 'A resolution of the model by its height: `1280x720` is `720p`.', examples: ['1280x720'] })

const inputReference = z
  .strictObject({ image_url: imageUrl })
  .meta({ description: 'The picture that the video begins with; in a form a file, or `input_reference[image_url]`.' })

const MAX_PICTURE_BYTES = 20 * 1024 * 1024

/** The forms that SDKs send in the place of JSON. */
export const videoForm = {
  files: { input_reference: { most: 1, maxBytes: MAX_PICTURE_BYTES } },
  maxFileBytes: MAX_PICTURE_BYTES,
  orJson: true,
} as const satisfies DeclaredForm

/** How a form writes the address in `input_reference`. */
const ADDRESS_IN_FORM = 'input_reference[image_url]'

/** The body as JSON has it, and the picture that came with it as a file. @throws ApiError */
function opened(sent: JsonObject): { body: JsonObject; picture: FormFile | null } {
  const { [ADDRESS_IN_FORM]: address, input_reference: reference, ...rest } = sent
  const picture = reference instanceof FormFile ? reference : null
  if (address !== undefined && reference !== undefined) throw fieldRefusal('input_reference', 'is there more than once')
  if (picture) pictureTypeOf(sent, 'input_reference', picture)
  const named = address === undefined ? reference : { image_url: address }
  return { body: picture ? rest : { ...rest, input_reference: named }, picture }
}

/** What OpenAI calls what the other endpoint has another name for, each with that name. */
const NAMES = [
  ['seconds', 'duration'],
  ['size', 'resolution'],
  ['input_reference', 'image_url'],
] as const

/** The body of a video, in OpenAI's form or in that of `/v1/videos/generations`. Unknown fields are ignored. */
export const openaiVideoBody = videoBody
  .extend({ seconds: optional(seconds), size: optional(size), input_reference: optional(inputReference) })
  .meta({ id: 'OpenAIVideoRequest' })

/** What a body asks for, and what it costs. @throws ApiError that names the field at fault */
export function parseVideo(sent: JsonObject, model: MediaModel): AskedMedia {
  const { body, picture } = opened(sent)
  const { model: _model, ...asked } = parseBody(openaiVideoBody, body)
  for (const [name, other] of NAMES) {
    const isGiven = asked[name] !== undefined || (name === 'input_reference' && picture !== null)
    if (isGiven && asked[other] !== undefined) throw fieldRefusal(name, `is the same as ${other}: send one of them`)
  }
  const { seconds: given, size: pixels, input_reference: reference, ...request } = asked
  const resolution = pixels && resolutionOfSize(pixels, offeredResolutions(model))
  return mediaOrder(
    model,
    {
      ...request,
      ...(given !== undefined && { duration: Number(given) }),
      ...(resolution !== undefined && { resolution }),
      ...(reference !== undefined && { image_url: reference.image_url }),
      ...(picture && { image_url: uploadAddress(picture.place) }),
    },
    {
      duration: given === undefined ? 'duration' : 'seconds',
      ...(resolution === undefined
        ? { resolution: 'resolution' }
        : { resolution: 'size', written: (offered) => sizeOf('video', offered)! }),
    },
  )
}
