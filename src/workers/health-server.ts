/**
 * A worker's `/healthz` and `/readyz`, on HEALTH_PORT where it is set, and its `/metrics` for those who
 * have METRICS_TOKEN.
 */
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Registry } from 'prom-client'
import type { Redis } from 'ioredis'
import type { Db } from '../shared/infra/db.ts'
import { unavailableServices } from '../shared/infra/health.ts'
import { mayScrape } from '../shared/metrics/registry.ts'

/** What is served where there is a token. */
type Scraped = { registry: Registry; token: string | undefined }

/** Serves the worker's health until it is closed. */
export function serveHealth(port: number, services: { db: Db; redis: Redis }, { registry, token }: Scraped): Server {
  return createServer((request, response) => {
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
    void unavailableServices(services).then((down) =>
      answer(down.length === 0 ? 200 : 503, { ok: down.length === 0, down }),
    )
  }).listen(port)
}
