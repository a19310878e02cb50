/**
 * GET /openapi.json: the document of the API. The console shows it at /docs.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware } from 'koa'
import type { WebDeps } from '../deps.ts'
import type { Endpoint } from '../endpoint/declaration.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { openApiDocument } from '../openapi/document.ts'
import { jsonAsset, projectFolder, serveAsset } from './assets.ts'

const POLICY = "default-src 'none'; frame-ancestors 'none'"

/** Made when it is first asked for: it takes a tenth of the time in which a web process starts. */
function serveDocument(make: () => object): Middleware {
  let serve: Middleware | undefined
  return (ctx, next) => (serve ??= serveAsset(jsonAsset(make()), POLICY))(ctx, next)
}

/** Adds the document to the table of endpoints. */
export function routeDocs(
  router: Router<RequestState>,
  { config }: Pick<WebDeps, 'config'>,
  endpoints: readonly Endpoint[],
): void {
  const { version } = JSON.parse(readFileSync(join(projectFolder(), 'package.json'), 'utf8')) as { version: string }
  router.get(
    '/openapi.json',
    serveDocument(() => openApiDocument(endpoints, config.BASE_URL, version)),
  )
}
