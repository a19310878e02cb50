/**
 * A video as OpenAI's API shows it.
 */
import type { Context } from 'koa'
import { z } from 'zod'
import type { VideoRow } from '../../../shared/calls/videos.ts'
import type { ErrorCode } from '../../../shared/platform/errors.ts'
import { gatewayError } from '../../../shared/platform/errors.ts'
import { asFields, isText } from '../../../shared/platform/fields.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import { parseId, publicId } from '../../../shared/platform/ids.ts'
import { nameInUrl } from '../../../shared/media/media.ts'
import { sizeOf } from '../../../shared/requests/sizes.ts'

/** How long a client is to wait between two polls of a video, in ms. By default Python's SDK polls every second. */
const POLL_AFTER_MS = 5000

const DAY_SECONDS = 86_400

const PREFIX = 'video_'

/** The id of the video that a call makes. */
export const videoId = (id: CallId): string => `${PREFIX}${publicId('call', id)}`

/** The call of a video's id; null for what is none. */
export const callOfVideo = (text: string): CallId | null =>
  text.startsWith(PREFIX) ? parseId('call', text.slice(PREFIX.length)) : null

const time = z.int().nullable()

/** A video. */
export const video = z
  .strictObject({
    id: z.string(),
    object: z.literal('video'),
    model: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    progress: z.int().min(0).max(100).meta({ description: 'In percent, as far as its upstream tells. Never falls.' }),
    created_at: z.int().meta({ description: 'Unix seconds, as all its times.' }),
    completed_at: time.meta({ description: 'When it ended.' }),
    expires_at: time.meta({ description: 'Until when its content is kept; null where there is none of ours.' }),
    error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    prompt: z.string().nullable().meta({ description: 'In the answer to its request alone: prompts are not stored.' }),
    seconds: z.string().nullable().meta({ description: 'null where neither the request nor the model states it.' }),
    size: z.string().nullable().meta({ description: 'null where neither the request nor the model states it.' }),
    remixed_from_video_id: z.null(),
  })
  .meta({ id: 'Video' })

const STATUSES = { queued: 'queued', running: 'in_progress', succeeded: 'completed', failed: 'failed' } as const

/** Until when the content of a video is stored, in Unix seconds; null if it has none, or is stored elsewhere. */
export const expiryOf = ({ resultUrl, finishedAt }: VideoRow, days: number): number | null =>
  resultUrl !== null && finishedAt !== null && nameInUrl(resultUrl) !== null ? finishedAt + days * DAY_SECONDS : null

/** A video as its owner gets it. @param days for how many its content is stored */
export const videoOf = (row: VideoRow, days: number): z.output<typeof video> => ({
  id: videoId(row.id),
  object: 'video',
  model: row.model,
  status: STATUSES[row.status],
  progress: row.status === 'succeeded' ? 100 : row.progress,
  created_at: row.createdAt,
  completed_at: row.finishedAt,
  expires_at: expiryOf(row, days),
  error: row.status === 'failed' ? errorOf(row) : null,
  prompt: null,
  seconds: row.seconds,
  size: sizeOf('video', row.resolution ?? undefined) ?? null,
  remixed_from_video_id: null,
})

/** Why a video failed, in its own words as long as its answer is stored. */
function errorOf({ errorType, error }: VideoRow): { code: string; message: string } {
  const { code, message } = error === null ? {} : asFields(JSON.parse(error))
  const general = gatewayError(errorType as ErrorCode)
  return { code: isText(code) ? code : general.code, message: isText(message) ? message : general.message }
}

/** Sets the headers that name the call of an answer, and what it costs. */
export function describeCost(ctx: Context, { id, credits, balance }: VideoRow): void {
  ctx.set({
    'X-Call-Id': publicId('call', id),
    'X-Credits': String(credits),
    'X-Balance': String(balance),
    'Cache-Control': 'no-store',
  })
}

/** The same, and when to poll again. */
export function describeVideo(ctx: Context, row: VideoRow): void {
  describeCost(ctx, row)
  ctx.set('OpenAI-Poll-After-Ms', String(POLL_AFTER_MS))
}
