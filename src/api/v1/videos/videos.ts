/**
 * POST /v1/videos: a video in OpenAI's form, which is answered at once, and polled until it has ended.
 */
import { z } from 'zod'
import type { MediaModel } from '../../../shared/catalogue/catalogue.ts'
import { findVideo } from '../../../shared/calls/videos.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import { withPictureTypes } from '../../forms/picture-types.ts'
import { joinableIfLeft } from '../calls/answer-call.ts'
import type { CallContext, PlacedCall } from '../calls/placed-call.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { CALL_ERRORS, callRequestHeaders, creditHeaders, placesCalls } from '../declared.ts'
import type { AskedMedia } from './generations.ts'
import { openaiVideoBody, parseVideo, videoForm } from './body.ts'
import { describeVideo, video, videoOf } from './video.ts'

/** On the answers about one video. */
export const videoHeaders = creditHeaders.extend({
  'OpenAI-Poll-After-Ms': z.string().meta({ description: 'How long to wait before the next look, in ms.' }),
})

/** What is specific to videos in OpenAI's form. */
export const videosKind: CallKind<MediaModel, AskedMedia> = {
  modality: 'video',
  resolve: (_deps, body) => withPictureTypes(body),
  parse: parseVideo,
  answer: (ctx, deps, placed, { request }) => answerBegun(ctx, deps, placed, request.prompt),
}

/** Answers with the status of a video. It goes on without its client. */
async function answerBegun(ctx: CallContext, deps: WebDeps, placed: PlacedCall, prompt: string): Promise<void> {
  placed.wait.cancel()
  joinableIfLeft(ctx, deps, placed.callId)
  const row = await findVideo(deps.db, ctx.state.principal, placed.callId)
  // Deleted after its retry was read.
  if (!row) throw new ApiError('result_expired')
  describeVideo(ctx, row)
  const found = { ...videoOf(row, deps.config.MEDIA_TTL_DAYS), prompt }
  ctx.body = placed.joined ? found : { ...found, status: 'queued', progress: 0 }
}

/** Begins a video. */
export const createVideo = callEndpoint(
  {
    ...placesCalls,
    path: '/v1/videos',
    summary: "Make a video, in the form of OpenAI's API",
    description:
      'The same call as `POST /v1/videos/generations`, answered at once: look at the video until it is `completed` ' +
      'or `failed`. The price of what is asked for is charged first, and refunded if the call fails.',
    headers: callRequestHeaders.omit({ Prefer: true }),
    body: openaiVideoBody,
    form: videoForm,
    answers: { 200: { description: 'The video, which is yet to be made.', schema: video, headers: videoHeaders } },
    errors: ['invalid_prompt', ...CALL_ERRORS],
  },
  videosKind,
)
