/**
 * POST /v1/chat/completions.
 */
import type { Middleware } from 'koa'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../shared/errors.ts'
import { estimateTokens } from '../../shared/calls/pricing.ts'
import type { CountedChat } from '../../shared/calls/pricing.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { answerWhenDone, prefersAsync } from './answer.ts'
import { parseChat } from './chat-body.ts'
import { answerWithChunks } from './chat-stream.ts'
import { bufferUpdates } from './updates.ts'
import { placeCall } from './place-call.ts'
import { modelOf } from './schemas.ts'

/** Completes a chat. Charged on an estimate of its tokens, settled on the real usage. */
export function createChat(deps: WebDeps): Middleware<RequestState> {
  return async (ctx) => {
    const body = bodyOf(ctx)
    const model = findModel(deps.catalogue.current(), modelOf(body), 'chat')
    if (!model) throw new ApiError('unsupported_model', { param: 'model' })
    const request = parseChat(body, model)
    const estimate = estimateTokens(body as CountedChat, model)
    const updates = bufferUpdates()
    const placed = await placeCall(ctx, deps, { model, request, estimate, body }, updates.onUpdate)
    if (request.stream && !prefersAsync(ctx)) await answerWithChunks(ctx, deps, placed, updates)
    else await answerWhenDone(ctx, deps, placed)
  }
}
