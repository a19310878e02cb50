/**
 * `GET /media/:name`: stored results. Anyone who has the address of one may read it, since its name cannot be guessed.
 * Its bytes came from an upstream, so they must never act as a page of the gateway's origin.
 */
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import type { Context } from 'koa'
import { z } from 'zod'
import { ApiError } from '../../shared/platform/errors.ts'
import type { MediaName } from '../../shared/media/media.ts'
import { parseMediaName } from '../../shared/media/media.ts'
import type { MediaLocation, MediaReader } from '../../shared/media/reader.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { describeContent } from './content.ts'

type StoredFile = MediaLocation & { kind: 'file' }

/** How long a client may keep a result, in seconds. */
const FRESH_SECONDS = 86_400

/**
 * No script, no frame, no origin of its own; but the page that a browser makes around a picture or a video may show
 * it. Without `media-src`, Chromium plays no video that is opened by its address.
 */
const HARMLESS = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"

/** The address is the permission: any page that has it may show and read the result, and so may a sandboxed one. */
const OPEN_TO_ORIGINS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Content-Range, Accept-Ranges, ETag',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

const HEADERS = {
  'Content-Security-Policy': HARMLESS,
  'X-Content-Type-Options': 'nosniff',
}

/** How long a client may keep a redirect: well below the life of the signed address that it leads to. */
const REDIRECT_SECONDS = 300

/** Serves a stored result, whole or by one range, or sends the client to the bucket that holds it. */
export const serveMedia = endpoint({
  method: 'get',
  path: '/media/:name',
  tag: 'Service',
  summary: 'Fetch an image or a video',
  description:
    'The address of a result, as returned by a call. Anyone who has it can read the result. It cannot be guessed.',
  envelope: 'gateway',
  auth: null,
  params: z.object({ name: z.string().meta({ description: 'The unguessable name.' }) }),
  answers: {
    200: { description: 'The file.', content: { 'image/*': null, 'video/*': null } },
    206: { description: 'A part of it (`Range`).', content: { 'image/*': null, 'video/*': null } },
    302: { description: 'The file is in a bucket: `Location` is a short-lived signed address.' },
    304: { description: 'Not modified.' },
    416: { description: 'The file does not have that range.' },
  },
  errors: ['not_found', 'service_unavailable'],
}).write(({ media }: Pick<WebDeps, 'media'>) => async (_input, ctx) => {
  ctx.set(OPEN_TO_ORIGINS)
  // The path as it was sent, not decoded: a name has one spelling.
  const name = parseMediaName(ctx.path.replace(/^\/media\//, ''))
  if (!name) throw new ApiError('not_found')
  await sendMedia(ctx, media, name, {
    file: `private, max-age=${FRESH_SECONDS}, immutable`,
    redirect: `private, max-age=${REDIRECT_SECONDS}`,
  })
})

/**
 * Sends a stored result, whole or by one range, or its client to the bucket that holds it.
 * @param kept how long its client may cache the file, and the address in the bucket: values of Cache-Control
 * @throws ApiError not_found, service_unavailable
 */
export async function sendMedia(
  ctx: Context,
  media: MediaReader,
  name: MediaName,
  cacheControl: { file: string; redirect: string },
): Promise<void> {
  const found = await locate(media, name, ctx.method === 'HEAD' ? 'HEAD' : 'GET')
  if (!found) throw new ApiError('not_found')
  if (found.kind === 'file') return sendFile(ctx, name, found, cacheControl.file)
  ctx.set('Cache-Control', cacheControl.redirect)
  ctx.redirect(found.url)
}

async function locate(reader: MediaReader, name: MediaName, method: 'GET' | 'HEAD'): Promise<MediaLocation | null> {
  try {
    return await reader.locate(name, method)
  } catch (cause) {
    throw new ApiError('service_unavailable', { cause })
  }
}

/** Opens the file before any header is set, so that one that was swept since it was located is a plain 404. */
async function sendFile(ctx: Context, name: MediaName, file: StoredFile, cacheControl: string): Promise<void> {
  const handle = await openFile(file.path)
  const range = describeContent(ctx, {
    etag: `"${file.size.toString(36)}-${file.modifiedAt.getTime().toString(36)}"`,
    modifiedAt: file.modifiedAt,
    headers: { ...HEADERS, 'Cache-Control': cacheControl },
    ofBody: { 'Content-Type': file.contentType, 'Content-Disposition': `inline; filename="${name}"` },
    size: file.size,
    ranges: true,
  })
  if (range) ctx.body = handle.createReadStream(range)
  else await handle.close()
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path)
  } catch (cause) {
    const isGone = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    throw new ApiError(isGone ? 'not_found' : 'service_unavailable', { cause })
  }
}
