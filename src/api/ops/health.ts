/**
 * GET /healthz and GET /readyz (contract section 9).
 */
import type { Middleware } from 'koa'
import type { WebDeps } from '../deps.ts'

/** How long a look at Postgres or Redis may take, in ms. */
const PATIENCE_MS = 2000

/** 200 while the process lives: it looks at nothing else. */
export const healthz: Middleware = (ctx) => {
  ctx.body = { ok: true }
}

/** 200 when a call could be served, else 503 with what is down. */
export function readyz({ db, redis, stopping }: Pick<WebDeps, 'db' | 'redis' | 'stopping'>): Middleware {
  return async (ctx) => {
    const [postgres, queue] = await Promise.all([answers(db.raw('SELECT 1')), answers(redis.ping())])
    const down = [...(postgres ? [] : ['postgres']), ...(queue ? [] : ['redis']), ...(stopping.aborted ? ['stopping'] : [])]
    ctx.status = down.length === 0 ? 200 : 503
    ctx.body = { ok: down.length === 0, down }
  }
}

async function answers(probe: PromiseLike<unknown>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), PATIENCE_MS).unref())
  return Promise.race([Promise.resolve(probe).then(() => true, () => false), late])
}
