/**
 * The metrics of one process, in Prometheus' words: base units (seconds, bytes), `_total` for what only grows. Label
 * values come from fixed lists and the catalogue, never from what a client sends: each new one stays in memory.
 */
import { Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import type { Config } from '../platform/config/config.ts'
import { showDefects } from '../platform/process/defects.ts'
import { RELEASE } from '../platform/process/release.ts'
import { isSameSecret } from '../platform/http/same-secret.ts'

/** Where metrics go. */
export type Watching = Pick<Config, 'METRICS_TOKEN' | 'OTEL_EXPORTER_OTLP_ENDPOINT'>

/** The registry of a process; not prom-client's global one, since tests run several processes in one. */
export function createRegistry({ METRICS_TOKEN, OTEL_EXPORTER_OTLP_ENDPOINT }: Watching): Registry {
  const registry = new Registry()
  new Gauge({
    name: 'tollgate_build_info',
    help: 'Which release this process is, and on which Node it runs. Always 1.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: RELEASE, node: process.versions.node }, 1)
  showDefects(registry)
  // The event loop and the garbage collector are only watched if somebody reads the metrics.
  if ((METRICS_TOKEN ?? OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined) collectDefaultMetrics({ register: registry })
  return registry
}

/** Whether a request's Authorization header is `Bearer` and the token, which may have any characters. */
export function mayScrape(authorization: string, token: string): boolean {
  const given = /^bearer +(.*?) *$/i.exec(authorization)?.[1]
  // Node reads header bytes as latin1; scrapers write UTF-8.
  return given !== undefined && isSameSecret(Buffer.from(given, 'latin1').toString('utf8'), token)
}
