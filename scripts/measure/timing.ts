/**
 * `npx tsx scripts/measure/timing.ts [pairs]`: whether response times reveal which addresses have an account. Starts a
 * web process on the services of the tests, sends the same request for addresses with and without an account, in random
 * order, and prints the difference of the medians with its 95 % interval.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { newDatabaseUrl, offer } from '../harness/database.ts'
import { sandboxCatalogue } from '../harness/harness.ts'
import { testRedis } from '../harness/redis.ts'
import { root } from '../folders.ts'
import { freePort } from '../services/ports.ts'
import { until } from '../until.ts'

/** The most that the medians may differ, in ms. */
const BOUNDS = { login: 3, forgot: 1 } as const

const PASSWORD = 'correct horse 1'
const ROUNDS_OF_BOOTSTRAP = 2000

type Side = 'known' | 'unknown'
type Samples = Record<Side, number[]>

const median = (values: number[]): number => {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

const drawnFrom = (values: number[]): number[] => values.map(() => values[Math.floor(Math.random() * values.length)]!)

/** The difference of the medians in ms, and its 95 % interval by bootstrap. */
function compare({ known, unknown }: Samples): { difference: number; low: number; high: number } {
  const draws = Array.from(
    { length: ROUNDS_OF_BOOTSTRAP },
    () => median(drawnFrom(known)) - median(drawnFrom(unknown)),
  ).toSorted((one, other) => one - other)
  return {
    difference: median(known) - median(unknown),
    low: draws[Math.floor(draws.length * 0.025)]!,
    high: draws[Math.floor(draws.length * 0.975)]!,
  }
}

async function startWeb(): Promise<{ url: string; stop: () => Promise<void> }> {
  const { url: redisUrl, prefix } = await testRedis()
  const port = await freePort()
  const databaseUrl = await newDatabaseUrl()
  await offer(databaseUrl, sandboxCatalogue('http://127.0.0.1:9'))
  const web = spawn(process.execPath, ['--import=tsx', join(root, 'src/api/main.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      REDIS_PREFIX: `${prefix}-timing`,
      APP_SECRET: randomBytes(32).toString('hex'),
      LOG_LEVEL: 'error',
      TRUST_PROXY: '1',
      LOGIN_RATE_LIMIT: '1000000',
      REGISTER_RATE_LIMIT: '1000000',
    },
  })
  const url = `http://127.0.0.1:${port}`
  await until('the web process to be ready', async () => {
    if (web.exitCode !== null) throw new Error('the web process did not start')
    return await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return {
    url,
    stop: async () => {
      web.kill('SIGTERM')
      await once(web, 'exit')
    },
  }
}

let requests = 0

async function timed(url: string, body: object, status: number): Promise<number> {
  requests += 1
  // Each request has a client address of its own: the limit of `forgot` is not configurable.
  const client = `10.${(requests >> 16) & 255}.${(requests >> 8) & 255}.${requests & 255}`
  const begun = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': client },
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  const ms = performance.now() - begun
  if (response.status !== status) throw new Error(`${url} answered ${response.status}`)
  return ms
}

/** Sends `pairs` requests of each kind. The order within a pair is random. */
async function measure(pairs: number, request: (side: Side, index: number) => Promise<number>): Promise<Samples> {
  const samples: Samples = { known: [], unknown: [] }
  for (let index = -20; index < pairs; index += 1) {
    const order: Side[] = Math.random() < 0.5 ? ['known', 'unknown'] : ['unknown', 'known']
    for (const side of order) {
      const ms = await request(side, index)
      if (index >= 0) samples[side].push(ms)
    }
  }
  return samples
}

function report(name: keyof typeof BOUNDS, samples: Samples): void {
  const { difference, low, high } = compare(samples)
  const within = Math.abs(difference) < BOUNDS[name]
  console.log(
    `${name}: known ${median(samples.known).toFixed(2)} ms, unknown ${median(samples.unknown).toFixed(2)} ms, ` +
      `difference ${difference.toFixed(3)} ms (95 %: ${low.toFixed(3)} to ${high.toFixed(3)}), ` +
      `n = ${samples.known.length} each: ` +
      (within ? `within ${BOUNDS[name]} ms` : `MORE than ${BOUNDS[name]} ms`),
  )
  if (!within) process.exitCode = 1
}

const pairs = Number(process.argv[2] ?? 400)
const web = await startWeb()
try {
  // Each address gets so few wrong passwords that none is paused.
  const people = Array.from({ length: Math.ceil((pairs + 40) / 5) }, (_, index) => `known-${index}@example.com`)
  for (const email of people) await timed(`${web.url}/api/auth/register`, { email, password: PASSWORD }, 200)
  const address = (side: Side, index: number): string =>
    side === 'known'
      ? people[Math.abs(index) % people.length]!
      : `nobody-${Math.abs(index) % people.length}@example.com`
  report(
    'login',
    await measure(pairs, (side, index) =>
      timed(`${web.url}/api/auth/login`, { email: address(side, index), password: 'wrong horse 1' }, 401),
    ),
  )
  report(
    'forgot',
    await measure(5 * pairs, (side, index) =>
      timed(`${web.url}/api/email/forgot`, { email: address(side, index) }, 200),
    ),
  )
} finally {
  await web.stop()
}
