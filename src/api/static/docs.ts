/**
 * GET /openapi.json and GET /docs: the document, and Swagger UI to read and try it. Everything comes from this server.
 */
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Router from '@koa/router'
import type { Middleware } from 'koa'
import type { WebDeps } from '../deps.ts'
import type { Endpoint } from '../endpoint/declaration.ts'
import type { RequestState } from '../middleware/request-context.ts'
import { openApiDocument } from '../openapi/document.ts'
import { jsonAsset, projectFolder, readAsset, serveAsset } from './assets.ts'

/** Swagger UI's style sheet has its pictures in it, as data. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const SWAGGER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js']

const OWN_FILES = ['start.js', 'docs.css']

/** Made when it is first asked for: it takes a tenth of the time in which a web process starts. */
function serveDocument(make: () => object): Middleware {
  let serve: Middleware | undefined
  return (ctx, next) => (serve ??= serveAsset(jsonAsset(make()), POLICY))(ctx, next)
}

/** Adds the document and its page to the table of endpoints. */
export function routeDocs(
  router: Router<RequestState>,
  { config }: Pick<WebDeps, 'config'>,
  endpoints: readonly Endpoint[],
): void {
  const project = projectFolder()
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string }
  router.get(
    '/openapi.json',
    serveDocument(() => openApiDocument(endpoints, config.BASE_URL, version)),
  )

  const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  for (const file of SWAGGER_FILES) router.get(`/docs/${file}`, serveAsset(readAsset(join(swagger, file)), POLICY))
  const own = join(project, 'assets/docs')
  for (const file of OWN_FILES) router.get(`/docs/${file}`, serveAsset(readAsset(join(own, file)), POLICY))
  router.get('/docs', serveAsset(readAsset(join(own, 'index.html')), POLICY))
}
