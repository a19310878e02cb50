/**
 * GET /metrics, for Prometheus.
 */
import { ApiError } from '../../shared/platform/errors.ts'
import { mayScrape } from '../../shared/metrics/registry.ts'
import type { Auth } from '../endpoint/declaration.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'

/** A client that knows METRICS_TOKEN. */
const scraper: Auth<null> = {
  scheme: 'metricsToken',
  errors: ['unauthorized'],
  find:
    ({ config: { METRICS_TOKEN } }) =>
    async (ctx) => {
      if (METRICS_TOKEN !== undefined && mayScrape(ctx.get('authorization'), METRICS_TOKEN)) return null
      throw new ApiError('unauthorized', { message: 'Send METRICS_TOKEN as "Authorization: Bearer <token>".' })
    },
}

/** The metrics as text. */
export const serveMetrics = endpoint({
  method: 'get',
  path: '/metrics',
  tag: 'Service',
  summary: 'Metrics for Prometheus',
  description: 'Only if the operator has set `METRICS_TOKEN`; otherwise 404.',
  offered: ({ METRICS_TOKEN }) => METRICS_TOKEN !== undefined,
  auth: scraper,
  answers: {
    200: {
      description: 'The metrics of this process, and those shared by all processes.',
      content: { 'text/plain': null },
    },
  },
  errors: ['not_found'],
}).write(({ metrics: { registry } }: Pick<WebDeps, 'metrics'>) => async (_input, ctx) => {
  ctx.set({ 'Content-Type': registry.contentType, 'Cache-Control': 'no-store' })
  ctx.body = await registry.metrics()
})
