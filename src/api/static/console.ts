/**
 * The console in the browser: its files, read once at the start from `dist/console`, and the paths of its pages, which
 * are all one document. No request ever names a file.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware } from 'koa'
import type { Config } from '../../shared/platform/config/config.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { isServed, projectFolder, readAsset, serveAsset } from './assets.ts'
import { admitLocal } from './local-mails.ts'

/**
 * Nothing inline and no code from elsewhere. Results and avatars may come from any https address; over http from the
 * bucket's own endpoint, and from anywhere where the console itself is served over http.
 */
export function consolePolicy({ BASE_URL, S3_ENDPOINT }: Pick<Config, 'BASE_URL' | 'S3_ENDPOINT'>): string {
  const media = ['https:']
  if (BASE_URL.startsWith('http:')) media.push('http:')
  else if (S3_ENDPOINT?.startsWith('http:')) media.push(new URL(S3_ENDPOINT).origin)
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    `img-src 'self' data: ${media.join(' ')}`,
    `media-src 'self' ${media.join(' ')}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The pages' paths. Any other path is 404: for a browser with a page, for a program with an error. */
export const CONSOLE_PATHS = [
  '/',
  '/sign-in',
  '/sign-in/done',
  '/sign-in/mail',
  '/sign-up',
  '/forgot',
  '/reset',
  '/verify',
  '/new-address',
  '/access',
  '/invitation',
  '/claim',
  '/docs',
  '/help',
  '/help/:page',
  '/help/:folder/:page',
  '/overview',
  '/calls',
  '/calls/:id',
  '/playground',
  '/playground/:kind',
  '/gallery',
  '/keys',
  '/members',
  '/webhooks',
  '/webhooks/:id',
  '/credits',
  '/models',
  '/models/:id',
  '/settings',
  '/operator',
  '/operator/:section',
  '/operator/:section/:id',
]

/**
 * A mailed link of which a gateway has encoded the `#`, once or twice: the fragment has become a part of the path.
 */
const ENCODED_FRAGMENT = /^\/(verify|reset|new-address|access|invitation|sign-in\/mail)\/?%(?:25)*23(.*)$/i

/** Where the build puts the files whose names change with what is in them. */
const HASHED = 'console'

const NOT_BUILT =
  'The console is not built. Run `npm run build` and start this process again. The API answers without it.\n'

/** For files whose name changes with their content. */
const FOREVER = 'public, max-age=31536000, immutable'

/**
 * Adds the console to the table of endpoints. `folder` is where the build put it; `admit` decides who gets its pages.
 * @returns what serves the console's document at any path, undefined if the console is not built
 */
export function routeConsole(
  router: Router<RequestState>,
  config: Pick<Config, 'BASE_URL' | 'S3_ENDPOINT' | 'SMTP_URL'>,
  admit: Middleware<RequestState>,
  folder = join(projectFolder(), 'dist/console'),
): Middleware | undefined {
  const project = projectFolder()
  const policy = consolePolicy(config)
  // Their names stay, so that they are there whichever of two releases is asked.
  for (const name of ['icon.svg', 'updating.js'])
    router.get(`/pages/${name}`, serveAsset(readAsset(join(project, 'assets/pages', name)), policy))
  if (!existsSync(join(folder, 'index.html'))) {
    for (const path of CONSOLE_PATHS) router.get(path, admit, notBuilt)
    return undefined
  }
  const page = serveAsset(readAsset(join(folder, 'index.html')), policy)
  for (const path of CONSOLE_PATHS) router.get(path, admit, page)
  router.get('/dev/mail', admitLocal(config), page)
  router.get(ENCODED_FRAGMENT, mendFragment)
  for (const name of readdirSync(join(folder, HASHED))) {
    if (!isServed(name)) continue
    const asset = readAsset(join(folder, HASHED, name))
    router.get(`/${HASHED}/${name}`, serveAsset(asset, policy, FOREVER))
  }
  return page
}

/** Leads to the page of a link whose fragment was encoded. */
const mendFragment: Middleware = (ctx) => {
  const [, name, fragment] = ENCODED_FRAGMENT.exec(ctx.path)!
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  ctx.redirect(`/${name!.toLowerCase()}#${fragment}`)
}

const notBuilt: Middleware = (ctx) => {
  ctx.status = 503
  ctx.set('Cache-Control', 'no-store')
  ctx.type = 'text/plain; charset=utf-8'
  ctx.body = NOT_BUILT
}
