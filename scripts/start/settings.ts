import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { root } from '../folders.ts'
import { freePort, isFree } from '../services/ports.ts'
import { LOCAL_CLIENT, startProvider } from '../services/provider.ts'
import type { LocalProvider } from '../services/provider.ts'
import { keptSecret, writePrivately } from '../services/secrets.ts'
import type { Environment } from './data-folder.ts'

/** The port at which the catalogue of this checkout expects the sandbox upstream. */
const sandboxPort = 4010

/**
 * The port of the web process: PORT if it is set, else 3000 or the next free one. Throws an Error when PORT is taken.
 */
export async function webPort(given: string | undefined): Promise<number> {
  if (!given) return await freePort(3000)
  const port = Number(given)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error('PORT must be a whole number up to 65535')
  if (port === 0) return await freePort()
  if (await isFree(port)) return port
  throw new Error(`PORT ${port} is taken; without PORT, the next free one from 3000 on is used`)
}

/**
 * The port of the worker's health checks: HEALTH_PORT if it is set, else any free one. Throws an Error when HEALTH_PORT
 * is taken.
 */
export async function healthPort(given: string | undefined): Promise<number> {
  const port = Number(given) || (await freePort())
  if (await isFree(port)) return port
  throw new Error(`HEALTH_PORT ${port} is taken; without HEALTH_PORT, any free one is used`)
}

/**
 * The catalogue, and the port of the sandbox upstream that it names. If that port is taken, a copy of the catalogue
 * with another one is written to the data folder.
 */
export async function sandboxCatalogue(folder: string): Promise<{ port: number; file: string | undefined }> {
  const port = await freePort(sandboxPort)
  if (port === sandboxPort) return { port, file: undefined }
  const catalogue = readFileSync(join(root, 'models.json'), 'utf8')
  const file = join(folder, 'models.json')
  writePrivately(file, catalogue.replaceAll(`127.0.0.1:${sandboxPort}/`, `127.0.0.1:${port}/`))
  return { port, file }
}

/**
 * Payments by the sandbox's Stripe at this port, unless the environment has settings of its own for payments. The keys
 * are made up, as no other Stripe takes them.
 */
export function sandboxPayments(folder: string, port: number): Environment {
  if (process.env['PAYMENTS'] !== undefined) return {}
  return {
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_sandbox',
    STRIPE_WEBHOOK_SECRET: `whsec_${keptSecret(join(folder, 'stripe-webhook-secret'))}`,
    STRIPE_API_BASE: `http://127.0.0.1:${port}`,
  }
}

/** A provider on this machine, and what the programs need to let people sign in there. */
export async function localProvider(folder: string): Promise<{ provider: LocalProvider; settings: Environment }> {
  const redirectUris = ['localhost', '127.0.0.1'].map((host) => `http://${host}/auth/callback/local`)
  const provider = await startProvider({ redirectUris })
  const file = join(folder, 'providers.json')
  const client = { clientId: LOCAL_CLIENT.id, clientSecretEnv: 'LOCAL_PROVIDER_SECRET' }
  const entry = { id: 'local', label: 'the local provider', issuer: provider.issuer, register: 'open', ...client }
  writePrivately(file, JSON.stringify([entry]))
  return { provider, settings: { SIGNIN_PROVIDERS: file, LOCAL_PROVIDER_SECRET: LOCAL_CLIENT.secret } }
}

/** How the programs of this machine reach one that listens at HOST: as 127.0.0.1, where that is among its addresses. */
export function localHost({ HOST: host = '127.0.0.1' }: Environment): string {
  if (['0.0.0.0', '::', 'localhost'].includes(host)) return '127.0.0.1'
  return isIPv6(host) ? `[${host}]` : host
}

/** Sets where the Stripe sandbox sends its events. Throws an Error if the sandbox does not listen. */
export async function tellStripe(environment: Environment, webPort: number): Promise<void> {
  const { STRIPE_API_BASE: base, STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: secret } = environment
  if (base === undefined) return
  const answer = await fetch(`${base}/stripe/control/endpoint`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://${localHost(environment)}:${webPort}/hooks/stripe`, secret }),
  })
  if (!answer.ok) throw new Error(`The sandbox's Stripe answers ${answer.status}.`)
}

/** The keys of the catalogue's pool: the sandbox treats each as its words demand (docs/upstreams/keys.md#try). */
const POOL = {
  SANDBOX_KEY_A: 'sandbox-a',
  SANDBOX_KEY_B: 'sandbox-b',
  SANDBOX_KEY_LIMITED: 'sandbox-limited-3',
  SANDBOX_KEY_EMPTY: 'sandbox-empty',
  SANDBOX_KEY_DEAD: 'sandbox-bad',
}

/** What every program needs besides the addresses of the services: from the environment, else from this folder. */
export function keptSettings(folder: string): Environment {
  const settings: Environment = {
    APP_SECRET: process.env['APP_SECRET'] || keptSecret(join(folder, 'app-secret'), 32),
    // What is started on a laptop is not for its network.
    HOST: process.env['HOST'] || '127.0.0.1',
    // No balancer checks here.
    DRAIN_SECONDS: process.env['DRAIN_SECONDS'] || '0',
    // Receivers of webhooks are tried on this machine.
    WEBHOOK_ALLOW_PRIVATE: process.env['WEBHOOK_ALLOW_PRIVATE'] || 'on',
    SANDBOX_API_KEY: process.env['SANDBOX_API_KEY'] || 'sandbox',
    ...Object.fromEntries(Object.entries(POOL).map(([name, key]) => [name, process.env[name] || key])),
  }
  // The programs' own defaults are in .data.
  if (process.env['TOLLGATE_DATA']) {
    settings['MAIL_FILE'] = process.env['MAIL_FILE'] || join(folder, 'mail.jsonl')
    settings['STORAGE_URL'] = process.env['STORAGE_URL'] || `file:${join(folder, 'media')}`
  }
  return settings
}
