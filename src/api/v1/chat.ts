/**
 * POST /v1/chat/completions.
 */
import type { Middleware } from 'koa'
import type { z } from 'zod'
import { findModel } from '../../shared/catalogue.ts'
import { ApiError } from '../../shared/errors.ts'
import { estimateTokens, outputLimit } from '../../shared/calls/pricing.ts'
import type { ChatRequest } from '../../shared/calls/requests.ts'
import type { WebDeps } from '../deps.ts'
import { bodyOf } from '../middleware/json-body.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { answerWhenDone, prefersAsync } from './answer.ts'
import { answerWithChunks } from './chat-stream.ts'
import { bufferNews } from './news.ts'
import { placeCall } from './place-call.ts'
import { chatBody, checkAddresses, modelOf, parseBody } from './schemas.ts'

/** Completes a chat. Charged on an estimate of its tokens, settled on the real usage. */
export function createChat(deps: WebDeps): Middleware<RequestState> {
  return async (ctx) => {
    const body = bodyOf(ctx)
    const model = findModel(deps.catalogue.current(), modelOf(body), 'chat')
    if (!model) throw new ApiError('unsupported_model', { param: 'model' })
    const parsed = parseBody(chatBody, body)
    checkAddresses(parsed.messages)
    const request = chatRequest(parsed, model.maxOutputTokens)
    const estimate = estimateTokens(request, model.maxOutputTokens)
    const news = bufferNews()
    const placed = await placeCall(ctx, deps, { model, request, estimate, body }, news.onNews)
    if (request.stream && !prefersAsync(ctx)) await answerWithChunks(ctx, deps, placed, news)
    else await answerWhenDone(ctx, deps, placed)
  }
}

/** The job's request: both names of the output limit become one, which is always set (contract section 5.2). */
function chatRequest(parsed: z.infer<typeof chatBody>, maxOutputTokens: number | undefined): ChatRequest {
  const { model: _model, max_tokens, max_completion_tokens, ...rest } = parsed
  return { ...rest, max_tokens: outputLimit(max_tokens ?? max_completion_tokens, maxOutputTokens) }
}
