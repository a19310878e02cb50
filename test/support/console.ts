import { Worker } from 'bullmq'
import type { WorkerConfig } from '../../src/workers/deps.ts'
import { NO_PASSWORD, hashPassword } from '../../src/shared/identity/passwords.ts'
import { openSession } from '../../src/shared/identity/sessions.ts'
import { parseId, publicId } from '../../src/shared/platform/ids.ts'
import { setAccountRole } from '../../src/shared/operators/changes.ts'
import { connectDb } from '../../src/shared/platform/postgres/db.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { createMailer } from '../../src/shared/mail/mailer.ts'
import { createQueues } from '../../src/shared/queues.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { createMailProcessor } from '../../src/workers/mail/processor.ts'
import type { RetryPlan } from '../../src/workers/mail/retry-plan.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get, send } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Reply } from '../../scripts/harness/http.ts'
import { startTestWeb, testConfig } from '../../scripts/harness/harness.ts'
import type { Settings, TestWeb } from '../../scripts/harness/harness.ts'
import { newDatabaseUrl } from '../../scripts/harness/database.ts'
import { useFor } from './gateway.ts'

let names = 0

/** A unique address. */
export const anEmail = (): string => `person-${process.pid}-${++names}@example.com`

/** A configuration without an upstream, for the console alone. */
export const consoleConfig = (settings: Settings = {}): Promise<WorkerConfig> =>
  testConfig('http://127.0.0.1:9', { BASE_URL: 'https://gate.example', ...settings })

/** A web process for the console alone. */
export type TestConsole = TestWeb & {
  post: (path: string, body?: unknown, token?: string, headers?: Record<string, string>) => Promise<Reply>
  get: (path: string, token?: string) => Promise<Reply>
}

export async function startConsole(config?: WorkerConfig): Promise<TestConsole> {
  const web = await startTestWeb(config ?? (await consoleConfig()))
  await until('the web process is ready', async () => (await get(`${web.url}/readyz`)).status === 200)
  return {
    ...web,
    post: (path, body, token, headers) => send('POST', `${web.url}${path}`, { key: token, body, headers }),
    get: (path, token) => get(`${web.url}${path}`, token),
  }
}

/** The console of a suite. `hasOwnDatabase`: for tests that read what there is of everybody. */
export const useConsole = (settings: Settings = {}, { hasOwnDatabase = false } = {}): TestConsole =>
  useFor(
    async () =>
      startConsole(
        await consoleConfig({ ...settings, ...(hasOwnDatabase && { DATABASE_URL: await newDatabaseUrl() }) }),
      ),
    ({ stop }) => stop(),
  )

/** The password of every person that tests register. */
export const PASSWORD = 'correct horse 1'

export type Person = { email: string; token: string; id: string }

/** A registered person who is logged in. */
export async function aPerson(web: TestConsole, email = anEmail()): Promise<Person> {
  const { json } = await web.post('/api/auth/register', { email, password: PASSWORD })
  return { email, token: json.token as string, id: json.user.id as string }
}

/** A person who is logged in without a registration, at a tenth of its cost. They have no password, and no mail. */
export const aVisitor = async ({ db }: Pick<TestConsole, 'db'>): Promise<Person> =>
  comeTo(db, await anAccount(db), NO_PASSWORD)

let passwordHash: Promise<string> | undefined

/** A visitor who has the password. */
export async function aUser({ db }: Pick<TestConsole, 'db'>): Promise<Person> {
  const account = await anAccount(db)
  const hash = await (passwordHash ??= hashPassword(PASSWORD))
  await db('users').where({ id: account.userId }).update({ password_hash: hash })
  return comeTo(db, account, hash)
}

async function comeTo(db: Db, { id, userId, email }: TestAccount, hash: string): Promise<Person> {
  const session = await openSession(db, { userId, accountId: id, passwordHash: hash, userAgent: '', ip: '' })
  return { email, token: session!.token, id: publicId('account', id) }
}

/** A visitor, who may be an operator, and what they ask of a service. */
export async function anAsker(web: Pick<TestWeb, 'db' | 'url'>, role: 'user' | 'admin' = 'user') {
  const visitor = await aVisitor(web)
  if (role === 'admin') await setAccountRole(web.db, null, parseId('account', visitor.id)!, role)
  const ask = (method: string, path: string, body?: unknown): Promise<Reply> =>
    send(method, `${web.url}${path}`, { key: visitor.token, body })
  return { ...visitor, ask }
}

/** An operator of a suite. */
export const useOperator = (web: Pick<TestWeb, 'db' | 'url'>): Awaited<ReturnType<typeof anAsker>> =>
  useFor(
    () => anAsker(web, 'admin'),
    () => Promise.resolve(),
  )

/** Logs in and returns the session token. */
export async function logIn(web: TestConsole, email: string, password = PASSWORD): Promise<string> {
  return (await web.post('/api/auth/login', { email, password })).json.token as string
}

/** A worker of the mail queue. `retries` replaces the plan, whose pauses are minutes. */
export function startMailWorker(config: WorkerConfig, retries?: RetryPlan): { stop: () => Promise<void> } {
  const db = connectDb({ ...config, DATABASE_POOL: 6 })
  const connection = connectPersistent(config)
  const mailer = createMailer(config)
  const process = createMailProcessor({ config, db, log: createLog('silent', 'worker'), mailer, retries })
  const worker = new Worker('mail', process, {
    connection,
    prefix: config.REDIS_PREFIX,
    concurrency: config.MAIL_CONCURRENCY,
    drainDelay: 1,
  })
  worker.on('error', () => {})
  return {
    stop: async () => {
      await worker.close()
      mailer.close()
      connection.disconnect()
      await db.destroy()
    },
  }
}

/** The producer side of the queues, as the reconciler has it. */
export function testQueues(config: WorkerConfig) {
  const redis = connectPersistent(config)
  const queues = createQueues(redis, config.REDIS_PREFIX)
  return {
    redis,
    queues,
    stop: async () => {
      await queues.close()
      redis.disconnect()
    },
  }
}
