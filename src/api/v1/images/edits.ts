/**
 * POST /v1/images/edits: a form with the pictures to edit, as OpenAI's SDKs send it, or JSON with their addresses.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { MediaModel } from '../../../shared/catalogue/catalogue.ts'
import { optional } from '../../../shared/requests/field-schemas.ts'
import type { MediaRequest, UploadedPicture } from '../../../shared/requests/requests.ts'
import { formFile } from '../../forms/declared-form.ts'
import type { FormFile } from '../../forms/form-file.ts'
import { pictureTypeOf, withPictureTypes } from '../../forms/picture-types.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { imageUrl } from '../calls/call-schemas.ts'
import { QUOTED_ERRORS, imagesResult } from '../declared.ts'
import type { AskedMedia } from '../videos/generations.ts'
import { answerMedia, declaredMedia } from '../videos/generations.ts'
import { formFields, imageBody } from './body.ts'
import { orderOfPictures } from './images.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { requireShortPrompt } from './options.ts'

const MEGABYTE = 1024 * 1024

/** The pictures of a form. */
const FILES = {
  files: { image: { most: 16, maxBytes: 20 * MEGABYTE }, mask: { most: 1, maxBytes: 20 * MEGABYTE } },
  maxFileBytes: 64 * MEGABYTE,
  orJson: true,
} as const

/** The body of an edit: of a form its texts and files, or JSON. */
const editBody = imageBody
  .extend({
    ...formFields,
    image: optional(z.array(formFile)).meta({
      description: 'The pictures to edit, in their order: up to 16 parts `image` or `image[]`, of up to 20 MB each.',
    }),
    mask: optional(formFile).meta({ description: 'Where to edit: a picture of the same size, transparent there.' }),
  })
  .meta({ id: 'ImageEditRequest' })

/** A picture of JSON. */
const pictureObject = z.object({
  file_id: z.null('names a file of the API: send an image_url').optional(),
  image_url: imageUrl,
})

/** The body of an edit that is JSON. */
const jsonBody = imageBody.extend({
  images: optional(z.array(pictureObject).min(1).max(FILES.files.image.most)),
  mask: optional(pictureObject),
})

/** What is asked for and what it costs at the most. Only forms write numbers as texts. @throws ApiError */
function parse(body: JsonObject, model: MediaModel, headers: IncomingHttpHeaders = {}): AskedMedia {
  requireShortPrompt(body.prompt, model)
  const isForm = /^multipart\//i.test(headers['content-type'] ?? '')
  const { model: _model, stream: _stream, partial_images: _partial, ...asked } = isForm ? ofForm(body) : ofJson(body)
  return orderOfPictures(model, asked, headers)
}

type Parsed = MediaRequest & Pick<z.infer<typeof imageBody>, 'model' | 'stream' | 'partial_images'>

function ofForm(body: JsonObject): Parsed {
  const pictureOf = (field: string, file: FormFile): UploadedPicture => ({
    place: file.place,
    extension: pictureTypeOf(body, field, file),
  })
  const { image = [], mask, ...asked } = parseBody(editBody, body)
  if (asked.image_url === undefined && image.length === 0) throw fieldRefusal('image', 'is required.')
  if (asked.image_url !== undefined && image.length > 0)
    throw fieldRefusal('image_url', 'cannot be combined with files: send one of them.')
  if (asked.image_url !== undefined && mask) throw fieldRefusal('mask', 'needs the picture to edit as a file, image.')
  return {
    ...asked,
    ...(image.length > 0 && { images: image.map((file) => pictureOf('image', file)) }),
    ...(mask && { mask: pictureOf('mask', mask) }),
  }
}

/**
 * JSON as SDKs of OpenAI write it: `images` with addresses, or `image_url`, and the address of a mask. One picture
 * without a mask is an `image_url`, which upstreams without forms take too.
 */
function ofJson(body: JsonObject): Parsed {
  // JSON has no files, and what is asked for is not left out while it is charged.
  if ((body.image ?? null) !== null) throw fieldRefusal('image', 'is a file: send a form, or images as addresses.')
  const { images: listed = [], mask, image_url: one, ...asked } = parseBody(jsonBody, body)
  if (one !== undefined && listed.length > 0)
    throw fieldRefusal('image_url', 'cannot be combined with images: send one of them.')
  const images = one === undefined ? listed.map(({ image_url: url }) => url) : [one]
  if (images.length === 0) throw fieldRefusal('image_url', 'is required.')
  return {
    ...asked,
    ...(images.length === 1 && !mask ? { image_url: images[0]! } : { images }),
    ...(mask && { mask: mask.image_url }),
  }
}

/** Edits pictures. */
export const editImages = callEndpoint(
  {
    ...declaredMedia(imagesResult),
    path: '/v1/images/edits',
    summary: 'Edit images',
    description:
      'A form with the pictures to edit, as SDKs of OpenAI send it, or JSON with `images: [{"image_url": …}]`, and ' +
      '`mask` in the same form. Charged and settled as images that are made.',
    form: FILES,
    body: editBody,
    errors: [...declaredMedia(imagesResult).errors, ...QUOTED_ERRORS],
  },
  {
    modality: 'image',
    resolve: (_deps, body) => withPictureTypes(body),
    parse,
    answer: answerMedia,
  } satisfies CallKind<MediaModel, AskedMedia>,
)
