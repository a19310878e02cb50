/**
 * GET /healthz and GET /readyz (docs/architecture.md#stopping).
 */
import type { Middleware } from 'koa'
import { unavailableServices } from '../../shared/infra/health.ts'
import type { WebDeps } from '../deps.ts'

/** 200 while the process lives: it looks at nothing else. */
export const healthz: Middleware = (ctx) => {
  ctx.body = { ok: true }
}

/** 200 when a call could be served, else 503 with what is down. */
export function readyz({ db, redis, draining }: Pick<WebDeps, 'db' | 'redis' | 'draining'>): Middleware {
  return async (ctx) => {
    const down = [...(await unavailableServices({ db, redis })), ...(draining.aborted ? ['stopping'] : [])]
    ctx.status = down.length === 0 ? 200 : 503
    ctx.body = { ok: down.length === 0, down }
  }
}
