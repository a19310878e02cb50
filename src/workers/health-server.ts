/**
 * A worker's `/healthz` and `/readyz`, on HEALTH_PORT where it is set, and its `/metrics` for those who
 * have METRICS_TOKEN.
 */
import type { RequestListener, Server } from 'node:http'
import type { Registry } from 'prom-client'
import type { Config } from '../shared/platform/config/config.ts'
import { reportDefect } from '../shared/platform/process/defects.ts'
import { readServices } from '../shared/platform/process/health.ts'
import type { Watched } from '../shared/platform/process/health.ts'
import { listenAt } from '../shared/platform/http/http-server.ts'
import { mayScrape } from '../shared/metrics/registry.ts'

/** What is served where there is a token. */
type Scraped = { registry: Registry; token: string | undefined }

/** Serves the worker's health at a port of HOST until it is closed. @throws as `listenAt`. */
export async function serveHealth(
  config: Pick<Config, 'HOST'>,
  port: number,
  watched: Watched & { terminating: AbortSignal },
  { registry, token }: Scraped,
): Promise<Server> {
  const unavailable = readServices(watched)
  const request: RequestListener = ({ url, headers }, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const failed = (error: unknown) => {
      response.destroy()
      reportDefect(error)
    }
    if (url === '/healthz') return answer(200, { ok: true })
    if (url === '/metrics' && token !== undefined) {
      if (!mayScrape(headers.authorization ?? '', token)) return answer(401, { ok: false, error: 'unauthorized' })
      registry
        .metrics()
        .then((text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text))
        .catch(failed)
      return
    }
    if (url !== '/readyz') return answer(404, { ok: false })
    unavailable()
      .then((services) => {
        const down = [...services, ...(watched.terminating.aborted ? ['draining'] : [])]
        answer(down.length === 0 ? 200 : 503, { ok: down.length === 0, down })
      })
      .catch(failed)
  }
  return listenAt(config, port, { request })
}
