/**
 * `GET /media/:name`: stored results. Their names are unguessable, so whoever has the address may read; what is read
 * came from an upstream, so nothing in it may ever act as a page of the gateway's origin.
 */
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import type { Context } from 'koa'
import { z } from 'zod'
import { ApiError } from '../../shared/errors.ts'
import type { MediaName } from '../../shared/media/media.ts'
import { parseMediaName } from '../../shared/media/media.ts'
import type { MediaLocation, MediaReader } from '../../shared/media/reader.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'

type StoredFile = MediaLocation & { kind: 'file' }

/** How long a client may keep a result, in seconds. */
const FRESH_SECONDS = 86_400

/**
 * No script, no frame, no origin of its own; but the page that a browser makes around a picture or a video may show
 * it. Without `media-src`, Chromium plays no video that is opened by its address.
 */
const HARMLESS = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"

/** How long a client may keep a redirect: well below the life of the signed address that it leads to. */
const REDIRECT_SECONDS = 300

/** Serves a stored result, whole or by one range, or sends the client to the bucket that holds it. */
export const serveMedia = endpoint({
  method: 'get',
  path: '/media/:name',
  tag: 'Service',
  summary: 'Fetch an image or a video',
  description:
    'The address of a result, as returned by a call. Anyone who has it can read it; its name cannot be guessed.',
  envelope: 'gateway',
  who: null,
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
  // As it was sent: a name in another spelling is none.
  const name = parseMediaName(ctx.path.replace(/^\/media\//, ''))
  const found = name && (await locate(media, name, ctx.method === 'HEAD' ? 'HEAD' : 'GET'))
  if (!name || !found) throw new ApiError('not_found')
  if (found.kind === 'file') return sendFile(ctx, name, found)
  ctx.set('Cache-Control', `private, max-age=${REDIRECT_SECONDS}`)
  ctx.redirect(found.url)
})

async function locate(reader: MediaReader, name: MediaName, method: 'GET' | 'HEAD'): Promise<MediaLocation | null> {
  try {
    return await reader.locate(name, method)
  } catch (cause) {
    throw new ApiError('service_unavailable', { cause })
  }
}

/** Opens the file before any header is set, so that one that was swept since it was located is a plain 404. */
async function sendFile(ctx: Context, name: MediaName, file: StoredFile): Promise<void> {
  const handle = await openFile(file.path)
  const range = describe(ctx, name, file)
  if (range && ctx.method === 'GET') {
    ctx.body = handle.createReadStream(range)
    ctx.length = range.end - range.start + 1
  } else {
    await handle.close()
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path)
  } catch (cause) {
    const isGone = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    throw new ApiError(isGone ? 'not_found' : 'service_unavailable', { cause })
  }
}

/** Writes the status and the headers of the answer; returns which bytes follow, or null for none. */
function describe(ctx: Context, name: MediaName, file: StoredFile): Range | null {
  ctx.status = 200
  ctx.set({
    'Accept-Ranges': 'bytes',
    'Cache-Control': `private, max-age=${FRESH_SECONDS}, immutable`,
    ETag: `"${file.size.toString(36)}-${file.modifiedAt.getTime().toString(36)}"`,
    'Last-Modified': file.modifiedAt.toUTCString(),
    // The address is the permission: any page that has it may show the result, and so may a sandboxed one.
    'Access-Control-Allow-Origin': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Content-Security-Policy': HARMLESS,
    'X-Content-Type-Options': 'nosniff',
  })
  if (ctx.fresh) {
    ctx.status = 304
    return null
  }
  const range = ctx.method === 'GET' ? wantedRange(ctx, file.size) : null
  if (range === 'unsatisfiable') {
    ctx.status = 416
    ctx.set({ 'Content-Range': `bytes */${file.size}`, 'Cache-Control': 'no-store' })
    ctx.body = ''
    return null
  }
  if (range) {
    ctx.status = 206
    ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${file.size}`)
  }
  ctx.set({ 'Content-Type': file.contentType, 'Content-Disposition': `inline; filename="${name}"` })
  ctx.length = file.size
  return range ?? { start: 0, end: file.size - 1 }
}

/** Bytes of a file, inclusive at both ends. */
type Range = { start: number; end: number }

/**
 * The one range that a request asks for (RFC 9110, section 14), or null for the whole: without a `Range`, with several
 * or a malformed one, and where `If-Range` knows another version.
 */
function wantedRange(ctx: Context, size: number): Range | 'unsatisfiable' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(ctx.get('Range').replaceAll(' ', ''))
  if (!match || match[0] === 'bytes=-' || !isSameVersion(ctx)) return null
  const [first, last] = [match[1]!, match[2]!]
  if (first === '' && Number(last) === 0) return 'unsatisfiable'
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return null
  const range = { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
  return range.start >= size ? 'unsatisfiable' : range
}

function isSameVersion(ctx: Context): boolean {
  const known = ctx.get('If-Range')
  return known === '' || known === ctx.response.get('ETag') || known === ctx.response.get('Last-Modified')
}
