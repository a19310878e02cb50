/**
 * What a model offers of what is asked of it: the shape of pictures, as it is priced and as every upstream is sent it.
 */
import type { MediaModel } from '../../../shared/catalogue/catalogue.ts'
import { unservedField } from '../../../shared/catalogue/route-rules.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { AUTO, MAX_PROMPT, offeredResolutions } from '../../../shared/requests/media-options.ts'
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import { sizeOf } from '../../../shared/requests/sizes.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { promptFault } from '../calls/call-schemas.ts'

type Area = Pick<MediaRequest, 'resolution' | 'size'>

/** @throws ApiError invalid_prompt for a prompt that is longer than the model takes */
export function requireShortPrompt(prompt: unknown, { maxPromptLength = MAX_PROMPT }: MediaModel): void {
  const fault = typeof prompt === 'string' ? promptFault(prompt, maxPromptLength) : null
  if (fault !== null) throw new ApiError('invalid_prompt', { param: 'prompt', message: `prompt ${fault}.` })
}

/**
 * The request as every upstream gets it: with the size or the resolution that it names, or else the model's first
 * resolution, and with the quality that it names. `auto` names nothing.
 * @throws ApiError invalid_request for what the model does not offer, and for a size together with a resolution
 */
export function resolvePictures(model: MediaModel, asked: MediaRequest): MediaRequest {
  const { resolution: _resolution, size: _size, quality, ...rest } = asked
  return {
    ...rest,
    ...areaOf(model, asked),
    ...(quality !== undefined && quality !== AUTO && { quality: offeredQuality(model, quality) }),
  }
}

function areaOf(model: MediaModel, { resolution, size }: Area): Area {
  if (size !== undefined && resolution !== undefined)
    throw new ApiError('invalid_request', { param: 'size', message: 'size and resolution say the same: name one.' })
  if (resolution !== undefined) return areaOfResolution(model, resolution)
  if (size !== undefined && size !== AUTO) return areaOfSize(model, size)
  const first = model.resolutions?.[0]
  return first === undefined ? {} : { resolution: first }
}

/** A resolution; where the model states sizes alone, the matching size. */
function areaOfResolution(model: MediaModel, resolution: string): Area {
  const offered = offeredResolutions(model)
  if (offered.includes(resolution)) return { resolution }
  const size = sizeOf('image', resolution)
  if (!model.resolutions && size !== undefined && model.sizes?.includes(size)) return { size }
  throw notOffered('resolution', model.resolutions || !model.sizes ? offered : model.sizes)
}

/** A size; where the model states none, the matching resolution. */
function areaOfSize(model: MediaModel, size: string): Area {
  if (model.sizes) {
    if (model.sizes.includes(size)) return { size }
    throw notOffered('size', [...model.sizes, AUTO])
  }
  const resolution = offeredResolutions(model).find((one) => sizeOf('image', one) === size)
  if (resolution !== undefined) return { resolution }
  throw notOffered('size', [...offeredResolutions(model).flatMap((one) => sizeOf('image', one) ?? []), AUTO])
}

function offeredQuality({ qualities = [] }: MediaModel, quality: string): string {
  if (qualities.includes(quality)) return quality
  throw notOffered('quality', [...qualities, AUTO])
}

/** @throws ApiError invalid_request that names what no upstream of the model would be sent */
export function requireServed({ routes }: MediaModel, request: MediaRequest): void {
  const field = unservedField(routes, request)
  if (field !== null) throw doesNotTake(field === 'images' ? 'image' : field)
}

const doesNotTake = (param: string): ApiError =>
  new ApiError('invalid_request', { param, message: `${param}: this model does not take it.` })

const notOffered = (param: string, offered: readonly string[]): ApiError =>
  fieldRefusal(param, `is not offered: this model offers ${offered.join(', ')}`)
