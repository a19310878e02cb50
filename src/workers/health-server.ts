/**
 * A worker's `/healthz` and `/readyz`, on HEALTH_PORT where it is set (contract section 9).
 */
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Redis } from 'ioredis'
import type { Db } from '../shared/db.ts'
import { whatIsDown } from '../shared/health.ts'

/** Serves the worker's health until it is closed. */
export function serveHealth(port: number, services: { db: Db; redis: Redis }): Server {
  return createServer((request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (request.url === '/healthz') return answer(200, { ok: true })
    if (request.url !== '/readyz') return answer(404, { ok: false })
    void whatIsDown(services).then((down) => answer(down.length === 0 ? 200 : 503, { ok: down.length === 0, down }))
  }).listen(port)
}
