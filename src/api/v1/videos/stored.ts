/**
 * Videos that were asked for, at either endpoint: to read, to list, to fetch and to delete.
 */
import { z } from 'zod'
import { hasEnded } from '../../../shared/terms/lifecycle.ts'
import type { VideoRow } from '../../../shared/calls/videos.ts'
import { findAskedVideo, findVideo, listVideos as videosOf } from '../../../shared/calls/videos.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { nameInUrl } from '../../../shared/media/media.ts'
import type { WebDeps } from '../../deps.ts'
import { apiKey } from '../../endpoint/auth.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { wholeNumber, parsedId } from '../../endpoint/fields.ts'
import { sendMedia } from '../../static/media.ts'
import { VIDEO_READ_LIMITS, allowanceHeaders, creditHeaders, gateway } from '../declared.ts'
import type { DeleteDeps } from './deletion.ts'
import { removeVideo } from './deletion.ts'
import { callOfVideo, describeCost, describeVideo, expiryOf, video, videoId, videoOf } from './video.ts'
import { videoHeaders } from './videos.ts'

const NO_VIDEO = 'There is no such video: it is unknown, or was deleted.'

const stored = { ...gateway, auth: apiKey, limits: VIDEO_READ_LIMITS } as const

const params = parsedId(callOfVideo, 'The `id` of a video.', NO_VIDEO)

const missing = (): ApiError => new ApiError('not_found', { message: NO_VIDEO })

type StoredDeps = Pick<WebDeps, 'db' | 'config'>

/** Shows a video of one's own. */
export const showVideo = endpoint({
  ...stored,
  method: 'get',
  path: '/v1/videos/:id',
  summary: 'Look at a video',
  description: 'Where it stands. Reads have a separate rate limit.',
  params,
  answers: { 200: { description: 'The video.', schema: video, headers: videoHeaders } },
}).write(({ db, config }: StoredDeps) => async ({ auth, params: { id } }, ctx) => {
  const row = await findVideo(db, auth, id)
  if (!row) throw missing()
  describeVideo(ctx, row)
  ctx.body = videoOf(row, config.MEDIA_TTL_DAYS)
})

const MOST_VIDEOS = 100
const SOME_VIDEOS = 20

/** Lists one's own videos, the newest first unless `order` is `asc`. */
export const listVideos = endpoint({
  ...stored,
  method: 'get',
  path: '/v1/videos',
  summary: 'List the videos',
  description: 'Of the account, those of `POST /v1/videos/generations` too.',
  query: z.object({
    limit: wholeNumber(1, MOST_VIDEOS).optional(),
    order: z.enum(['asc', 'desc']).optional(),
    after: z.string().max(200).optional().meta({ description: 'The id of the video behind which the page begins.' }),
  }),
  answers: {
    200: {
      description: 'The videos.',
      schema: z.strictObject({
        object: z.literal('list'),
        data: z.array(video),
        first_id: z.string().nullable(),
        last_id: z.string().nullable(),
        has_more: z.boolean(),
      }),
      headers: allowanceHeaders,
    },
  },
}).handle(({ db, config }: StoredDeps) => async ({ auth, query }) => {
  const { after, limit = SOME_VIDEOS, order = 'desc' } = query
  const from = after === undefined ? null : callOfVideo(after)
  const isUnknown = after !== undefined && from === null
  const found = isUnknown ? null : await videosOf(db, auth, { after: from, limit, order })
  if (!found) throw new ApiError('invalid_request', { param: 'after', message: 'after: there is no such video.' })
  const data = found.slice(0, limit).map((row) => videoOf(row, config.MEDIA_TTL_DAYS))
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.length > limit,
  }
})

/** It may be deleted before it expires: a cache must ask again. */
const CACHE_CONTROL = { file: 'private, no-cache', redirect: 'no-store' }

/** Fetches what was made, whole or by one range. */
export const fetchContent = endpoint({
  ...stored,
  method: 'get',
  path: '/v1/videos/:id/content',
  summary: 'Fetch the content of a video',
  description: 'Its file, for as long as results are kept. There are no thumbnails and no spritesheets.',
  params,
  query: z.object({
    variant: z
      .enum(['video', 'thumbnail', 'spritesheet'])
      .optional()
      .meta({ description: '`video` if absent. Nothing else is there.' }),
  }),
  answers: {
    200: { description: 'The file.', content: { 'video/*': null } },
    206: { description: 'A part of it (`Range`).', content: { 'video/*': null } },
    302: { description: 'The file is elsewhere: `Location` is an address that needs no key.' },
    304: { description: 'Not modified.' },
    416: { description: 'The file does not have that range.' },
  },
  errors: ['not_ready'],
}).write(
  ({ db, config, media }: StoredDeps & Pick<WebDeps, 'media'>) =>
    async ({ auth, params: { id }, query }, ctx) => {
      const row = await findVideo(db, auth, id)
      if (!row) throw missing()
      ctx.set('X-Call-Id', publicId('call', id))
      const url = contentOf(row, query.variant ?? 'video', config.MEDIA_TTL_DAYS)
      const name = nameInUrl(url)
      if (name) return sendMedia(ctx, media, name, CACHE_CONTROL)
      ctx.set('Cache-Control', CACHE_CONTROL.redirect)
      ctx.redirect(url)
    },
)

/** Where the content of a video is. @throws ApiError not_found, not_ready */
function contentOf(row: VideoRow, variant: string, days: number): string {
  if (variant !== 'video') throw new ApiError('not_found', { message: `This video has no ${variant}.` })
  if (!hasEnded(row.status)) throw new ApiError('not_ready')
  const expiresAt = expiryOf(row, days)
  const isOver = expiresAt !== null && expiresAt * 1000 <= Date.now()
  if (row.resultUrl !== null && !isOver) return row.resultUrl
  const why = row.status === 'failed' ? 'This video failed.' : 'This video is not kept any more.'
  throw new ApiError('not_found', { message: `${why} It has no content.` })
}

/** Deletes a video: its content and its result. The record of the call stays. */
export const deleteVideo = endpoint({
  ...stored,
  method: 'delete',
  path: '/v1/videos/:id',
  summary: 'Delete a video',
  description:
    'Its content is kept no longer. One that runs is cancelled: it costs nothing where no upstream has it yet, else ' +
    'its price. The record of the call, and what it cost, stay.',
  params,
  answers: {
    200: {
      description: 'It was deleted.',
      schema: z.strictObject({ id: z.string(), object: z.literal('video.deleted'), deleted: z.literal(true) }),
      headers: creditHeaders,
    },
  },
}).write((deps: DeleteDeps) => async ({ auth, params: { id } }, ctx) => {
  if (!(await removeVideo(deps, auth, id))) throw missing()
  const row = await findAskedVideo(deps.db, auth, id)
  if (row) describeCost(ctx, row)
  ctx.body = { id: videoId(id), object: 'video.deleted', deleted: true }
})
