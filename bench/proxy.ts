/**
 * The floor: a bare Koa + undici proxy, without keys, limits, billing, queue or records. Takes the port of its
 * upstream as its argument; prints its own.
 */
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { Pool } from 'undici'

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: 256 })
const app = new Koa()
app.use(async (ctx) => {
  const answer = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    body: ctx.req,
    headers: { 'content-type': 'application/json' },
  })
  ctx.status = answer.statusCode
  ctx.type = 'application/json'
  ctx.body = Buffer.from(await answer.body.arrayBuffer())
})
const server = app.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
