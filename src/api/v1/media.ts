/**
 * POST /v1/images/generations and POST /v1/videos/generations.
 */
import type { Middleware } from 'koa'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import type { MediaModel } from '../../shared/catalogue/catalogue.ts'
import { defaultDuration, durationsText, offeredResolutions, offersDuration } from '../../shared/calls/media-options.ts'
import type { MediaRequest } from '../../shared/calls/requests.ts'
import { ApiError } from '../../shared/errors.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { answerWhenDone } from './answer.ts'
import { answerWithEvents, wantsEvents } from './media-events.ts'
import { bufferUpdates } from './updates.ts'
import { placeCall } from './place-call.ts'
import { imageBody, modelOf, parseBody, videoBody } from './schemas.ts'

/** Makes an image or a video, or edits the image at `image_url`. Costs the model's fixed credits. */
export function createMedia(deps: WebDeps, modality: 'image' | 'video'): Middleware<RequestState> {
  return async (ctx) => {
    const body = bodyOf(ctx)
    const model = findModel(deps.catalogue.current(), modelOf(body), modality)
    if (!model) throw new ApiError('unsupported_model', { param: 'model' })
    const { model: _model, ...asked } = modality === 'image' ? parseBody(imageBody, body) : parseBody(videoBody, body)
    const request = resolveOptions(model, asked)
    const updates = bufferUpdates()
    const placed = await placeCall(ctx, deps, { model, request, estimate: null, body }, updates.onUpdate)
    if (wantsEvents(ctx)) answerWithEvents(ctx, deps, placed, updates)
    else await answerWhenDone(ctx, deps, placed)
  }
}

/**
 * The request as every upstream gets it: with the duration and the resolution that it names, or else the model's first.
 * @throws ApiError invalid_request for one that the model does not offer
 */
function resolveOptions(model: MediaModel, asked: MediaRequest): MediaRequest {
  if (asked.duration !== undefined && !offersDuration(model, asked.duration)) {
    throw notOffered('duration', `this model makes videos of ${durationsText(model)}`)
  }
  const resolutions = offeredResolutions(model)
  if (asked.resolution !== undefined && !resolutions.includes(asked.resolution)) {
    throw notOffered('resolution', `this model offers ${resolutions.join(', ')}`)
  }
  const duration = asked.duration ?? defaultDuration(model)
  const resolution = asked.resolution ?? model.resolutions?.[0]
  return { ...asked, ...(duration !== undefined && { duration }), ...(resolution !== undefined && { resolution }) }
}

const notOffered = (param: string, offer: string): ApiError =>
  new ApiError('invalid_request', { param, message: `${param}: ${offer}.` })
