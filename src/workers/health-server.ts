/**
 * A worker's `/healthz` and `/readyz`, on HEALTH_PORT where it is set, and its `/metrics` for those who
 * have METRICS_TOKEN.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Registry } from 'prom-client'
import { unavailableServices } from '../shared/infra/health.ts'
import type { Watched } from '../shared/infra/health.ts'
import { mayScrape } from '../shared/metrics/registry.ts'

/** What is served where there is a token. */
type Scraped = { registry: Registry; token: string | undefined }

/** Serves the worker's health until it is closed. @throws where the port is not to be had. */
export async function serveHealth(
  port: number,
  watched: Watched & { leaving: AbortSignal },
  { registry, token }: Scraped,
): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (request.url === '/healthz') return answer(200, { ok: true })
    if (request.url === '/metrics' && token !== undefined) {
      if (!mayScrape(request.headers.authorization ?? '', token))
        return answer(401, { ok: false, error: 'unauthorized' })
      return void registry
        .metrics()
        .then((text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text))
    }
    if (request.url !== '/readyz') return answer(404, { ok: false })
    void unavailableServices(watched).then((services) => {
      const down = [...services, ...(watched.leaving.aborted ? ['draining'] : [])]
      answer(down.length === 0 ? 200 : 503, { ok: down.length === 0, down })
    })
  })
  server.listen(port)
  await once(server, 'listening')
  return server
}
