/** What `doctor` checks. Loaded when it is asked for: it brings along most of what a worker is made of. */
import { missingSchema } from '../../migrations/index.ts'
import type { Config } from '../shared/platform/config/config.ts'
import { ConfigError, configWarnings, isLocal, readConfig } from '../shared/platform/config/config.ts'
import type { Catalogue, Upstream } from '../shared/catalogue/catalogue.ts'
import { QUEUES } from '../shared/terms/kinds.ts'
import { faultText } from '../shared/catalogue/faults.ts'
import { catalogueWarnings, missingKeys, parseCatalogue } from '../shared/catalogue/parse.ts'
import { readVersion } from '../shared/catalogue/versions.ts'
import { askForWrite } from '../shared/platform/postgres/db.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { sentenceOf } from '../shared/platform/process/log.ts'
import { CHECK_MS, ServiceUnavailable, checkPostgres, checkRedis, within } from '../shared/platform/process/start-up.ts'
import { createMailer } from '../shared/mail/mailer.ts'
import { providerOf } from '../shared/payments/deps.ts'
import type { Provider } from '../shared/payments/provider.ts'
import { factorAdvice, signInAdvice } from '../shared/sign-in/policy.ts'
import { createProviderClients } from '../shared/sign-in/provider-client.ts'
import { readProviders } from '../shared/sign-in/providers.ts'
import { probeStorage } from '../shared/media/storage-check.ts'
import { checkKey } from '../shared/operators/key-check.ts'
import type { Report } from './command.ts'

/** One thing that was checked. */
type Finding = { name: string; ok: boolean; says: string }

/** What a check finds; what it throws is a failure, and so is silence. */
type Look = () => Promise<string>

async function finding(name: string, look: Look): Promise<Finding> {
  try {
    return { name, ok: true, says: await within(CHECK_MS, look) }
  } catch (error) {
    const cause = error instanceof ServiceUnavailable && error.cause !== undefined ? error.cause : error
    return { name, ok: false, says: sentenceOf(cause) || (cause as Error).name }
  }
}

async function postgres(db: Db, config: Pick<Config, 'DATABASE_SSL'>): Promise<string> {
  const version = await checkPostgres(db)
  await askForWrite(db)
  const { rows } = await db.raw<{ rows: { version: string | null }[] }>(
    'SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl',
  )
  const checked = config.DATABASE_SSL === 'verify' ? ', its certificate checked' : ''
  return `${version}, ${rows[0] ? `over ${rows[0].version ?? 'TLS'}${checked}` : 'without TLS'}`
}

async function schema(db: Db): Promise<string> {
  const missing = await missingSchema(db)
  if (missing.length > 0) throw new Error(`not migrated: ${missing.join(', ')} missing; run the release phase`)
  return 'as new as this release'
}

async function redis(config: Config): Promise<string> {
  const { version, policy } = await checkRedis(config)
  return `${version ?? 'a version that it hides'}, maxmemory-policy ${policy ?? 'hidden: it must be noeviction'}`
}

async function mail(config: Config): Promise<string> {
  const mailer = createMailer(config)
  try {
    if (mailer.transport === 'smtp') {
      await mailer.check()
      return 'SMTP accepts the login'
    }
  } finally {
    mailer.close()
  }
  const sentence = 'SMTP_URL is not set: mails are lines of MAIL_FILE and reach nobody'
  if (config.NODE_ENV === 'production') throw new Error(sentence)
  return sentence
}

/** Asks for the payments of the last minute: reading them costs nothing, and every key that can sell may. */
async function payments(provider: Provider): Promise<string> {
  const now = Date.now()
  for await (const _ of provider.list(new Date(now - 60_000), new Date(now))) break
  return `${provider.name} accepts the key, ${provider.liveMode ? 'real money moves' : 'in test mode'}`
}

async function address(config: Config): Promise<string> {
  if (config.NODE_ENV === 'production' && isLocal(config)) throw new Error(`${config.BASE_URL} is local`)
  return config.BASE_URL
}

/** The providers at which people sign in: whether each is there, and is who it should be. */
function providersOf(config: Config): Promise<Finding>[] {
  try {
    const clients = createProviderClients(config, readProviders(config))
    return Array.from(clients.values(), ({ id, issuer, probe }) =>
      finding(`provider ${id}`, async () => {
        await probe()
        return `${issuer} lets people come back to ${config.BASE_URL}/auth/callback/${id}`
      }),
    )
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [finding('providers', () => Promise.reject(error))]
  }
}

/** Checks everything in turn. */
async function examine(db: Db, config: Config): Promise<Finding[]> {
  const provider = providerOf(config)
  const findings = await Promise.all([
    finding('Postgres', () => postgres(db, config)),
    finding('schema', () => schema(db)),
    finding('Redis', () => redis(config)),
    finding('storage', async () => {
      await probeStorage(config)
      return 'written, read and removed'
    }),
    finding('mail', () => mail(config)),
    finding('BASE_URL', () => address(config)),
    ...(provider === null ? [] : [finding('payments', () => payments(provider))]),
    ...providersOf(config),
  ])
  return [...findings, ...(await examineCatalogue(db, config))]
}

/** The current version, as a worker would use it. @throws if none exists, or this release does not take it. */
async function currentCatalogue(db: Db, { secretOf }: Config): Promise<Catalogue> {
  const stored = await readVersion(db, 'newest')
  if (!stored) throw new Error('there is none yet: run the release phase')
  const { content, version, appliedAt } = stored
  return parseCatalogue(content, { version, createdAt: Math.floor(Date.parse(appliedAt) / 1000) }, secretOf)
}

/** The upstreams of enabled models: the others are sent nothing. */
function usedIn({ models, upstreams }: Catalogue): Upstream[] {
  const used = new Set([...models.values()].flatMap(({ routes }) => routes.map(({ upstream }) => upstream)))
  return upstreams.filter((one) => used.has(one))
}

async function examineCatalogue(db: Db, config: Config): Promise<Finding[]> {
  const current = await within(CHECK_MS, () => currentCatalogue(db, config)).catch((error: unknown) => error as Error)
  const whole = await finding('catalogue', async () => {
    if (current instanceof Error) throw current
    const models = [...current.models.values()]
    const without = models.filter(({ routes }) => routes.length === 0).map(({ id }) => id)
    if (without.length === models.length) throw new Error('no model has an upstream with a key in this environment')
    const served = `${models.length - without.length} of ${models.length} models are served`
    const counts = `version ${current.version}, ${served} with the keys in this environment`
    const missing = without.length > 0 ? [`Without an upstream that has a key: ${without.join(', ')}`] : []
    return [
      counts,
      ...missing,
      ...missingKeys(current).map((one) => faultText([one])),
      ...catalogueWarnings(current),
    ].join('. ')
  })
  const upstreams = current instanceof Error ? [] : usedIn(current)
  const keys = await Promise.all(
    upstreams.flatMap((upstream) =>
      upstream.keys.map(async ({ name, secret: apiKey }) => {
        const { ok, says } = await checkKey({ ...upstream, apiKey }, CHECK_MS)
        const which = upstream.keys.length > 1 ? `, key ${name}` : ''
        return { name: `upstream ${upstream.name}${which}`, ok, says }
      }),
    ),
  )
  return [whole, ...keys]
}

/** None while Postgres cannot be asked, or is not migrated: both are findings. */
const adviceOf = (db: Db, config: Config): Promise<string[]> =>
  within(CHECK_MS, () => signInAdvice(db, config)).catch(() => [])

const lineOf = ({ name, ok, says }: Finding): string => `${ok ? 'ok  ' : 'FAIL'}  ${name}: ${says}`

function read(): Config | Finding {
  try {
    return readConfig(QUEUES)
  } catch (error) {
    if (error instanceof ConfigError) return { name: 'configuration', ok: false, says: error.message }
    throw error
  }
}

/** Checks everything without sending or paying for anything; complains where something must be fixed. */
export async function doctor(db: Db): Promise<Report> {
  const config = read()
  const findings = 'says' in config ? [config] : await examine(db, config)
  const warnings =
    'says' in config
      ? []
      : [...configWarnings(config, QUEUES), ...factorAdvice(config), ...(await adviceOf(db, config))]
  const failed = findings.filter(({ ok }) => !ok).length
  return {
    json: { ok: failed === 0, findings, warnings },
    text: [...findings.map(lineOf), ...warnings.map((warning) => `note  ${warning}`)].join('\n'),
    ...(failed > 0 && { complaint: `Not all is well: ${failed} of ${findings.length} checks failed.` }),
  }
}
