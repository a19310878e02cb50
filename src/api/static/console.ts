/**
 * The console in the browser: its files, read once at the start from `dist/console`, and the paths of its pages, which
 * all
 * are one document. No request ever names a file.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware } from 'koa'
import type { RequestState } from '../middleware/request-context.ts'
import { projectFolder, readAsset, serveAsset } from './assets.ts'

/**
 * Nothing inline and no code from elsewhere. Pictures and films may be of any https address: results and avatars are.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: https:",
  "media-src 'self' https:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** The pages' paths. Any other path is 404: a mistyped API path must not be answered with a page. */
export const CONSOLE_PATHS = [
  '/',
  '/sign-in',
  '/sign-up',
  '/forgot',
  '/reset',
  '/verify',
  '/overview',
  '/calls',
  '/calls/:id',
  '/playground',
  '/playground/:kind',
  '/keys',
  '/credits',
  '/models',
  '/settings',
  '/operator',
  '/operator/:section',
  '/operator/:section/:id',
]

/** Where the build puts the files whose names change with what is in them. */
const HASHED = 'console'

const NOT_BUILT =
  'The console is not built. Run `npm run build` and start this process again. The API answers without it.\n'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const ENCODINGS = { br: '.br', gzip: '.gz' } as const
type Encoding = keyof typeof ENCODINGS

/** A file of the build, in every form that it has. */
type BuiltFile = { type: string; etag: string; plain: Buffer; compressed: Partial<Record<Encoding, Buffer>> }

/** Adds the console to the table of endpoints. `folder` is where the build put it. */
export function routeConsole(router: Router<RequestState>, folder = join(projectFolder(), 'dist/console')): void {
  const project = projectFolder()
  router.get('/pages/icon.svg', serveAsset(readAsset(join(project, 'assets/pages/icon.svg')), CONSOLE_POLICY))
  if (!existsSync(join(folder, 'index.html'))) {
    for (const path of CONSOLE_PATHS) router.get(path, notBuilt)
    return
  }
  const page = serveFile(readBuilt(join(folder, 'index.html')), 'no-cache')
  for (const path of CONSOLE_PATHS) router.get(path, page)
  for (const name of readdirSync(join(folder, HASHED))) {
    if (TYPES[extname(name)])
      router.get(
        `/${HASHED}/${name}`,
        serveFile(readBuilt(join(folder, HASHED, name)), 'public, max-age=31536000, immutable'),
      )
  }
}

const notBuilt: Middleware = (ctx) => {
  ctx.status = 503
  ctx.set('Cache-Control', 'no-store')
  ctx.type = 'text/plain; charset=utf-8'
  ctx.body = NOT_BUILT
}

function readBuilt(path: string): BuiltFile {
  const plain = readFileSync(path)
  const forms = Object.entries(ENCODINGS)
    .filter(([, ending]) => existsSync(path + ending))
    .map(([name, ending]) => [name, readFileSync(path + ending)])
  return {
    type: TYPES[extname(path)]!,
    etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    plain,
    compressed: Object.fromEntries(forms) as BuiltFile['compressed'],
  }
}

function serveFile(file: BuiltFile, caching: string): Middleware {
  return (ctx) => {
    const encoding = ctx.acceptsEncodings([...Object.keys(file.compressed), 'identity'])
    const compressed = encoding === false ? undefined : file.compressed[encoding as Encoding]
    ctx.status = 200
    ctx.set({
      'Content-Security-Policy': CONSOLE_POLICY,
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cache-Control': caching,
      Vary: 'Accept-Encoding',
      ETag: `"${file.etag}${compressed ? `-${String(encoding)}` : ''}"`,
    })
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    ctx.type = file.type
    if (compressed) ctx.set('Content-Encoding', String(encoding))
    ctx.body = compressed ?? file.plain
  }
}
