/**
 * Static files: read once at the start, each under a path of its own. No request ever names a file.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Middleware } from 'koa'
import { describeContent } from './content.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Whether a file is of a type that pages need. */
export const isServed = (name: string): boolean => extname(name) in TYPES

const ENDINGS = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof ENDINGS

/** What is served at one path, in every encoding that it has. */
export type Asset = {
  type: string
  etag: string
  plain: Buffer
  encoded: Partial<Record<Encoding, () => Buffer | Promise<Buffer>>>
}

/**
 * The folder with the project's package.json, above this file: source and compiled code lie at different depths.
 * @throws if it does not exist
 */
export function projectFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error('there is no package.json above the code')
    folder = dirname(folder)
  }
  return folder
}

/**
 * Reads a file to serve, and its compressed forms next to it.
 * @throws if it does not exist, or is of no type that a page needs
 */
export function readAsset(path: string): Asset {
  const type = TYPES[extname(path)]
  if (!type) throw new Error(`${path} is of no type that is served`)
  const stored = Object.entries(ENDINGS).flatMap(([name, ending]) => {
    if (!existsSync(path + ending)) return []
    const bytes = readFileSync(path + ending)
    return [[name, () => bytes] as const]
  })
  return assetOf(readFileSync(path), type, Object.fromEntries(stored))
}

/** A text of a media type. */
export const textAsset = (text: string, type: string): Asset => assetOf(Buffer.from(text), type)

/** A document that this process made. */
export const jsonAsset = (document: object): Asset =>
  textAsset(JSON.stringify(document), 'application/json; charset=utf-8')

/** Smaller files gain nothing from compression. */
const COMPRESSED_BYTES = 1024

/** An asset without a stored form is compressed when it is first asked for. */
function assetOf(plain: Buffer, type: string, stored: Asset['encoded'] = {}): Asset {
  let small: Promise<Buffer> | undefined
  const gzipped = () => (small ??= promisify(gzip)(plain, { level: 9 }))
  return {
    type,
    etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    plain,
    encoded: plain.length < COMPRESSED_BYTES ? {} : { ...stored, gzip: stored.gzip ?? gzipped },
  }
}

/** Browsers ask each time, and get 304 while nothing has changed. */
const ASK_EACH_TIME = 'no-cache'

/** Serves an asset under a Content-Security-Policy. */
export function serveAsset(asset: Asset, policy: string, caching = ASK_EACH_TIME): Middleware {
  const headers = {
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cache-Control': caching,
    Vary: 'Accept-Encoding',
  }
  return async (ctx) => {
    const accepted = ctx.acceptsEncodings([...Object.keys(asset.encoded), 'identity'])
    const encoding = accepted === false || accepted === 'identity' ? undefined : (accepted as Encoding)
    const bytes = encoding ? await asset.encoded[encoding]!() : asset.plain
    const follows = describeContent(ctx, {
      etag: `"${asset.etag}${encoding ? `-${encoding}` : ''}"`,
      headers,
      ofBody: { 'Content-Type': asset.type, ...(encoding && { 'Content-Encoding': encoding }) },
      size: bytes.length,
    })
    if (!follows) return
    ctx.state.isAsset = true
    ctx.body = bytes
  }
}
