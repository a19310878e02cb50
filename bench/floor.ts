/**
 * The floor: what this shape of a gateway costs when it does nothing else. It has no keys, checks, prices, refunds,
 * metrics or logs; but it makes the same durable commits, the same queue scripts and the same HTTP exchanges as a chat
 * of Tollgate, on the same Postgres and Redis, and gathers both in the same way (`batched`, and the connections of
 * `redis.ts`). `floor.ts web|worker DATABASE_URL REDIS_URL UPSTREAM_PORT`; prints its port.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Queue, Worker } from 'bullmq'
import Koa from 'koa'
import pg from 'pg'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { Pool } from 'undici'
import { batched } from '../src/shared/platform/postgres/batcher.ts'
import { connectPersistent, connectProducer } from '../src/shared/platform/redis/redis.ts'

const [role, databaseUrl, redisUrl, upstreamPort] = process.argv.slice(2) as [string, string, string, string]
const redisConfig = { REDIS_URL: redisUrl, REDIS_TLS_VERIFY: 'on' } as const
const ACCOUNT = '00000000-0000-7000-8000-000000000001'
const CHARGE = 40
const COST = 26
const REPLIES = 'floor:reply'

type Ids = { id: string }[]

/** A function for one item over a prepared statement for many, on a connection of its own. */
function prepared<Item, Row extends object = object>(name: string, text: string, values: (items: Item[]) => unknown[]) {
  const client = new pg.Client({ connectionString: databaseUrl })
  const ready = client.connect()
  return batched<Item, Row>(
    async (items) => {
      await ready
      const { rows } = await client.query<Row>({ name, text, values: values(items) })
      if (rows.length !== items.length) throw new Error(`${name}: ${rows.length} of ${items.length}`)
      return rows
    },
    () => true,
  )
}

const ids = (items: Ids) => items.map(({ id }) => id)

async function web(): Promise<void> {
  const db = new pg.Client({ connectionString: databaseUrl })
  await db.connect()
  await db.query(`
    CREATE TABLE accounts (id uuid PRIMARY KEY, credits bigint NOT NULL CHECK (credits >= 0), seq bigint NOT NULL);
    CREATE TABLE calls (id uuid PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts, status text NOT NULL,
      charged bigint NOT NULL, credits bigint, attempts integer NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL DEFAULT now(), finished_at timestamptz) WITH (fillfactor = 80);
    CREATE INDEX ON calls (account_id, created_at);
    CREATE TABLE entries (account_id uuid NOT NULL REFERENCES accounts, seq bigint NOT NULL,
      call_id uuid NOT NULL REFERENCES calls, kind text NOT NULL, amount bigint NOT NULL,
      PRIMARY KEY (account_id, seq), UNIQUE (call_id, kind));
    CREATE TABLE results (call_id uuid PRIMARY KEY REFERENCES calls, output text NOT NULL);
    INSERT INTO accounts VALUES ('${ACCOUNT}', 1000000000000, 0)`)
  await db.end()
  const charge = prepared<Ids[number]>(
    'charge',
    `WITH account AS (
      UPDATE accounts SET credits = credits - ${CHARGE} * cardinality($1::uuid[]), seq = seq + cardinality($1::uuid[])
      WHERE id = '${ACCOUNT}' RETURNING id, seq - cardinality($1::uuid[]) AS seq
    ), entry AS (
      INSERT INTO entries SELECT a.id, a.seq + r.place, r.id, 'charge', -${CHARGE}
      FROM account a, unnest($1::uuid[]) WITH ORDINALITY AS r (id, place)
    )
    INSERT INTO calls (id, account_id, status, charged)
    SELECT r.id, a.id, 'queued', ${CHARGE} FROM account a, unnest($1::uuid[]) AS r (id) RETURNING id`,
    (items) => [ids(items)],
  )
  const redis = connectProducer(redisConfig)
  const limiter = new RateLimiterRedis({ storeClient: redis, keyPrefix: 'floor', points: 1e9, duration: 60 })
  const queue = new Queue('chat', { connection: redis, prefix: 'floor', streams: { events: { maxLen: 100 } } })
  const waiting = new Map<string, (body: string) => void>()
  const subscriber = connectPersistent(redisConfig)
  subscriber.on('message', (_channel: string, message: string) => {
    waiting.get(message.slice(0, 36))?.(message.slice(37))
    waiting.delete(message.slice(0, 36))
  })
  await subscriber.subscribe(REPLIES)
  const app = new Koa()
  app.use(async (ctx) => {
    await limiter.consume(ACCOUNT)
    const request = JSON.parse(await textOf(ctx.req)) as object
    const id = randomUUID()
    await charge({ id })
    const answer = new Promise<string>((resolve) => waiting.set(id, resolve))
    await queue.add('chat', { id, request }, { jobId: id, removeOnComplete: true, removeOnFail: true })
    ctx.type = 'application/json'
    ctx.body = await answer
  })
  const server = app.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
}

const textOf = (request: IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => resolve(Buffer.concat(chunks).toString()))
    request.on('error', reject)
  })

function worker(): void {
  const begin = prepared<Ids[number]>(
    'begin',
    `UPDATE calls SET status = 'running', attempts = attempts + 1 WHERE id = ANY ($1::uuid[]) RETURNING id`,
    (items) => [ids(items)],
  )
  const settle = prepared<{ id: string; output: string }>(
    'settle',
    `WITH account AS (
      UPDATE accounts SET credits = credits + ${CHARGE - COST} * cardinality($1::uuid[]),
        seq = seq + cardinality($1::uuid[])
      WHERE id = '${ACCOUNT}' RETURNING id, seq - cardinality($1::uuid[]) AS seq
    ), entry AS (
      INSERT INTO entries SELECT a.id, a.seq + r.place, r.id, 'settlement', ${CHARGE - COST}
      FROM account a, unnest($1::uuid[]) WITH ORDINALITY AS r (id, place)
    ), result AS (
      INSERT INTO results SELECT * FROM unnest($1::uuid[], $2::text[])
    )
    UPDATE calls SET status = 'succeeded', credits = ${COST}, finished_at = now()
    FROM account WHERE calls.id = ANY ($1::uuid[]) RETURNING calls.id`,
    (items) => [ids(items), items.map(({ output }) => output)],
  )
  const upstream = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: 256 })
  const redis = connectPersistent(redisConfig)
  const work = async ({ data }: { data: { id: string; request: object } }): Promise<void> => {
    await begin(data)
    const answer = await upstream.request({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(data.request),
    })
    const output = JSON.stringify({ ok: true, ...((await answer.body.json()) as object) })
    await settle({ id: data.id, output })
    await redis.publish(REPLIES, `${data.id} ${output}`)
  }
  for (let nth = 0; nth < 4; nth++) {
    new Worker('chat', work, { connection: redis, prefix: 'floor', concurrency: 125, lockDuration: 5000 })
  }
  process.stdout.write('0\n')
}

await (role === 'web' ? web() : worker())
