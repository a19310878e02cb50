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

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** What is served at one path. */
export type Asset = { body: Buffer; type: string; etag: string; compressed: () => Promise<Buffer> }

/**
 * The folder with the project's package.json, above this file: source and compiled code lie at different depths.
 * @throws where there is none
 */
export function projectFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error('there is no package.json above the code')
    folder = dirname(folder)
  }
  return folder
}

/** Reads a file to serve. @throws where it does not exist, or is of a type that no page needs. */
export function readAsset(path: string): Asset {
  const type = TYPES[extname(path)]
  if (!type) throw new Error(`${path} is of no type that is served`)
  return assetOf(readFileSync(path), type)
}

/** A document that this process made. */
export const jsonAsset = (document: object): Asset =>
  assetOf(Buffer.from(JSON.stringify(document)), 'application/json; charset=utf-8')

function assetOf(body: Buffer, type: string): Asset {
  let small: Promise<Buffer> | undefined
  return {
    body,
    type,
    etag: createHash('sha256').update(body).digest('base64url').slice(0, 22),
    compressed: () => (small ??= promisify(gzip)(body, { level: 9 })),
  }
}

/** Smaller files gain nothing from compression. */
const COMPRESSED_BYTES = 1024

/** Serves an asset under a Content-Security-Policy. Browsers ask each time, and hear 304 while nothing has changed. */
export function serveAsset(asset: Asset, policy: string): Middleware {
  return async (ctx) => {
    const compress = asset.body.length >= COMPRESSED_BYTES && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    ctx.status = 200
    ctx.set({
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cache-Control': 'no-cache',
      Vary: 'Accept-Encoding',
      ETag: `"${asset.etag}${compress ? '-gzip' : ''}"`,
    })
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    ctx.type = asset.type
    if (compress) ctx.set('Content-Encoding', 'gzip')
    ctx.body = compress ? await asset.compressed() : asset.body
  }
}
