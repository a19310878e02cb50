/**
 * POST /v1/images/generations and POST /v1/videos/generations.
 */
import type { Middleware } from 'koa'
import { findModel } from '../../shared/catalogue.ts'
import { ApiError } from '../../shared/errors.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { answerWhenDone } from './answer.ts'
import { answerWithEvents, wantsEvents } from './media-events.ts'
import { bufferNews } from './news.ts'
import { placeCall } from './place-call.ts'
import { imageBody, modelOf, parseBody, videoBody } from './schemas.ts'

/** Makes an image or a video, or edits the image at `image_url`. Costs the model's fixed credits. */
export function createMedia(deps: WebDeps, modality: 'image' | 'video'): Middleware<RequestState> {
  return async (ctx) => {
    const body = bodyOf(ctx)
    const model = findModel(deps.catalogue.current(), modelOf(body), modality)
    if (!model) throw new ApiError('unsupported_model', { param: 'model' })
    const { model: _model, ...request } = modality === 'image' ? parseBody(imageBody, body) : parseBody(videoBody, body)
    const news = bufferNews()
    const placed = await placeCall(ctx, deps, { model, request, estimate: null, body }, news.onNews)
    if (wantsEvents(ctx)) answerWithEvents(ctx, deps, placed, news)
    else await answerWhenDone(ctx, deps, placed)
  }
}
