/**
 * GET /healthz and GET /readyz.
 */
import { z } from 'zod'
import { readServices } from '../../shared/platform/process/health.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import { Reply } from '../endpoint/declaration.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'

const declared = { method: 'get', tag: 'Service', auth: null } as const

/** 200 while the process lives: it checks nothing else. */
export const healthz = endpoint({
  ...declared,
  path: '/healthz',
  summary: 'Whether the process is alive',
  answers: { 200: { description: 'It does.', schema: z.strictObject({ ok }) } },
}).handle(() => () => ({ ok: true }))

const readiness = z.strictObject({ ok: z.boolean(), down: z.array(z.string()) })

/** 200 when a call could be served, else 503 with what is down. */
export const readyz = endpoint({
  ...declared,
  path: '/readyz',
  summary: 'Whether calls can be served',
  answers: {
    200: { description: 'Calls can be served.', schema: readiness },
    503: {
      description:
        '`down` is the reason: `postgres` or `redis` cannot be reached or takes no writes, the `schema` has not been ' +
        'migrated or has no `catalogue` yet, or the process is `draining`: it still serves, but will stop soon.',
      schema: readiness,
    },
  },
}).handle(
  ({
    terminating,
    config,
    ...watched
  }: Pick<WebDeps, 'config' | 'db' | 'redis' | 'schema' | 'catalogue' | 'terminating'>) => {
    const unavailable = readServices({ ...watched, prefix: config.REDIS_PREFIX })
    return async () => {
      const down = [...(await unavailable()), ...(terminating.aborted ? ['draining'] : [])]
      return down.length === 0 ? { ok: true, down } : new Reply(503, { ok: false, down })
    }
  },
)
