/**
 * POST /v1/images/generations.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { MediaModel } from '../../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { mediaCost } from '../../../shared/terms/pricing.ts'
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { imagesResult } from '../declared.ts'
import type { AskedMedia } from '../videos/generations.ts'
import { answerMedia, declaredMedia } from '../videos/generations.ts'
import { imageBody } from './body.ts'
import { requireServed, requireShortPrompt, resolvePictures } from './options.ts'

/** What is asked for and what it costs at the most, which it is charged before. @throws ApiError */
function parse(body: JsonObject, model: MediaModel, headers: IncomingHttpHeaders = {}): AskedMedia {
  requireShortPrompt(body.prompt, model)
  for (const field of ['image', 'images', 'mask'])
    if ((body[field] ?? null) !== null) throw fieldRefusal(field, 'is edited by POST /v1/images/edits')
  const { model: _model, stream: _stream, partial_images: _partial, ...asked } = parseBody(imageBody, body)
  return orderOfPictures(model, asked, headers)
}

/** The order of pictures that are asked for as the schema of a body has it. @throws ApiError invalid_request */
export function orderOfPictures(model: MediaModel, asked: MediaRequest, headers: IncomingHttpHeaders): AskedMedia {
  const request = resolvePictures(model, asked)
  if (request.response_format === 'b64_json' && /\btext\/event-stream\b/i.test(String(headers.accept)))
    throw new ApiError('invalid_request', {
      param: 'response_format',
      message: 'response_format: events have the addresses of pictures, not their bytes.',
    })
  const charge = chargeFor(model, request)
  requireServed(model, request)
  return { request, estimate: null, charge }
}

/** @throws ApiError invalid_request if the model has no price for this: it is never made for nothing. */
function chargeFor({ price }: MediaModel, { resolution, size, quality, n = 1 }: MediaRequest): number {
  const charge = mediaCost(
    price,
    { ...(resolution && { resolution }), ...(size && { size }), ...(quality && { quality }) },
    n,
  )
  if (charge !== null) return charge
  const param = size === undefined ? 'resolution' : 'size'
  const asked = [size ?? resolution ?? 'a request without a resolution', quality].filter(Boolean).join(' in quality ')
  throw new ApiError('invalid_request', { param, message: `${param}: this model has no price for ${asked}.` })
}

/** What is specific to images. */
export const imageKind: CallKind<MediaModel, AskedMedia> = { modality: 'image', parse, answer: answerMedia }

/** Makes images, or edits the one at `image_url`. */
export const makeImage = callEndpoint(
  {
    ...declaredMedia(imagesResult),
    path: '/v1/images/generations',
    summary: 'Make or edit images',
    description:
      'The price of what is asked for is charged first, and settled at the pictures that are delivered; all of it is ' +
      'refunded if the call fails.',
    body: imageBody,
  },
  imageKind,
)
