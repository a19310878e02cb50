/**
 * The pages that people meet before there is a console: what this is, and the two behind mailed links. Their files
 * lie in `assets/pages`.
 */
import { join } from 'node:path'
import type Router from '@koa/router'
import type { RequestState } from '../middleware/request-context.ts'
import { projectFolder, readAsset, serveAsset } from './assets.ts'

/** Nothing inline, nothing from elsewhere, no frame around it: a mailed token is in these pages' memory. */
const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join('; ')

const FILES = {
  '/': 'index.html',
  '/verify': 'verify.html',
  '/reset': 'reset.html',
  '/pages/style.css': 'style.css',
  '/pages/icon.svg': 'icon.svg',
  '/pages/link.js': 'link.js',
  '/pages/verify.js': 'verify.js',
  '/pages/reset.js': 'reset.js',
}

/** Adds the pages to the table of endpoints. */
export function routePages(router: Router<RequestState>): void {
  const folder = join(projectFolder(), 'assets/pages')
  for (const [path, file] of Object.entries(FILES)) router.get(path, serveAsset(readAsset(join(folder, file)), POLICY))
}
