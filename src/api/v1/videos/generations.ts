/**
 * POST /v1/videos/generations, and what images have in common with it.
 */
import type { z } from 'zod'
import type { MediaModel } from '../../../shared/catalogue/catalogue.ts'
import {
  defaultDuration,
  durationsText,
  offeredResolutions,
  offersDuration,
} from '../../../shared/requests/media-options.ts'
import { mediaCost } from '../../../shared/terms/pricing.ts'
import type { MediaRequest } from '../../../shared/requests/requests.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import type { AnswerDeps } from '../calls/answer-call.ts'
import { answerWhenDone, prefersAsync, acceptedBody, endWhenDone, handleDisconnect } from '../calls/answer-call.ts'
import { CALL_ERRORS, MEDIA_EVENTS, accepted, callHeaders, mediaResult, placesCalls } from '../declared.ts'
import type { CallContext, PlacedCall, UpdateListener } from '../calls/placed-call.ts'
import { videoBody } from '../calls/call-schemas.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { requireServed } from '../images/options.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import { withBody } from '../calls/answer-body.ts'
import type { EventStream } from '../calls/event-stream.ts'
import { beginEventStream } from '../calls/event-stream.ts'

/** The declaration of an endpoint of media. @param result what it answers */
export const declaredMedia = <Result extends z.ZodType>(result: Result) =>
  ({
    ...placesCalls,
    answers: {
      200: {
        description: 'The result.',
        schema: result,
        headers: callHeaders,
        content: { 'text/event-stream': MEDIA_EVENTS },
      },
      202: accepted,
    },
    errors: ['invalid_prompt', ...CALL_ERRORS],
  }) as const

/** Answers in the form that its client wants: with the result, with events, or with where to fetch it. */
export const answerMedia = (
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  { updates }: { updates: UpdateListener },
) =>
  wantsEvents(ctx) && !prefersAsync(ctx)
    ? answerWithEvents(ctx, deps, placed, updates)
    : answerWhenDone(ctx, deps, placed)

/** A checked request for media, and its charge. */
export type AskedMedia = { request: MediaRequest; estimate: null; charge: number }

/** Parses a request, and finds its price: of what the upstream is going to be sent. */
function parse(body: JsonObject, model: MediaModel): AskedMedia {
  const { model: _model, ...asked } = parseBody(videoBody, body)
  return mediaOrder(model, asked)
}

/** What is specific to videos. */
export const videoKind: CallKind<MediaModel, AskedMedia> = { modality: 'video', parse, answer: answerMedia }

/** Makes a video. */
export const makeVideo = callEndpoint(
  {
    ...declaredMedia(mediaResult),
    path: '/v1/videos/generations',
    summary: 'Make a video',
    description: 'The price of what is asked for is charged first, and refunded if the call fails.',
    body: videoBody,
  },
  videoKind,
)

/** How a body calls the options of media, and how it writes a resolution. */
type OptionNames = { duration: string; resolution: string; written?: (resolution: string) => string }

const OWN_NAMES: OptionNames = { duration: 'duration', resolution: 'resolution' }

/**
 * What is asked of a media model, and what it costs.
 * @throws ApiError invalid_request if the model does not offer it, or has no price for it
 */
export function mediaOrder(model: MediaModel, asked: MediaRequest, names: OptionNames = OWN_NAMES): AskedMedia {
  const request = resolveOptions(model, asked, names)
  const charge = chargeFor(model, request, names)
  requireServed(model, request)
  return { request, estimate: null, charge }
}

/**
 * The request as every upstream gets it: with the duration and the resolution that it names, or else the model's first.
 * @throws ApiError invalid_request for one that the model does not offer
 */
function resolveOptions(model: MediaModel, asked: MediaRequest, names: OptionNames): MediaRequest {
  if (asked.duration !== undefined && !offersDuration(model, asked.duration)) {
    throw notOffered(names.duration, `this model makes videos of ${durationsText(model)}`)
  }
  const resolutions = offeredResolutions(model)
  if (asked.resolution !== undefined && !resolutions.includes(asked.resolution)) {
    const { written = String } = names
    throw notOffered(names.resolution, `this model offers ${resolutions.map((one) => written(one)).join(', ')}`)
  }
  const duration = asked.duration ?? defaultDuration(model)
  const resolution = asked.resolution ?? model.resolutions?.[0]
  return { ...asked, ...(duration !== undefined && { duration }), ...(resolution !== undefined && { resolution }) }
}

/** @throws ApiError invalid_request if the model has no price for this: it is never made for nothing. */
function chargeFor({ price }: MediaModel, { resolution, duration }: MediaRequest, names: OptionNames): number {
  const charge = mediaCost(price, { resolution, duration })
  if (charge !== null) return charge
  const asked = resolution ?? `a request without a ${names.resolution}`
  throw new ApiError('invalid_request', {
    param: names.resolution,
    message: `${names.resolution}: this model has no price for ${asked}.`,
  })
}

const notOffered = (param: string, offer: string): ApiError => fieldRefusal(param, `is not offered: ${offer}`)

/** Whether the client asked for events. */
const wantsEvents = (ctx: CallContext): boolean => /\btext\/event-stream\b/i.test(ctx.get('accept'))

/**
 * Answers with server-sent events until the call has ended: `queued`, `running`, `progress`, then `result` or `error`.
 * A client that disconnects does not end its call.
 */
function answerWithEvents(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall, updates: UpdateListener): void {
  const events = beginEventStream(ctx, deps.responseMemory.hold(ctx))
  const id = publicId('call', placed.callId)
  events.send(JSON.stringify({ id, status: 'queued' }), 'queued')
  updates.attach((one) => sendUpdate(events, id, one))
  endWhenDone(ctx, deps, placed, async (answer) => {
    const later = () => events.send(JSON.stringify(acceptedBody(placed)), 'running')
    if (answer)
      // One that cannot be read now can be fetched later.
      await withBody(deps, answer, (body) => events.send(body, answer.status === 200 ? 'result' : 'error')).catch(later)
    else if (deps.stopping.aborted) later()
    else return handleDisconnect(ctx, deps, placed)
    events.end()
  })
}

function sendUpdate(events: EventStream, id: string, update: CallUpdate): void {
  if (update.type === 'running') events.send(JSON.stringify({ id, status: 'running' }), 'running')
  if (update.type === 'progress') events.send(JSON.stringify({ id, progress: update.progress }), 'progress')
}
