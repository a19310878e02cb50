/**
 * The providers at which users can sign in: the file that SIGNIN_PROVIDERS names (docs/sign-in.md#providers).
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Config } from '../platform/config/config.ts'
import { ConfigError, isLocalHost } from '../platform/config/config.ts'
import { fieldFault, fieldPath } from '../platform/field-errors.ts'

/** Whom a provider may make users of: everybody, those who were invited to an organisation, or nobody. */
export type Registers = 'open' | 'invited' | 'never'

/**
 * A provider as it is configured. `issuer`: who vouches for its users, as a normal URL. `github`: the address of a
 * GitHub; null: it speaks OpenID Connect. `hasSecondFactor`: it asks all its users for one.
 */
export type Provider = {
  id: string
  label: string
  issuer: string
  github: string | null
  clientId: string
  clientSecret: string
  scopes: readonly string[]
  register: Registers
  domains: readonly string[] | null
  hasSecondFactor: boolean
}

const GITHUB = 'https://github.com'

/** Issuers of Microsoft that stand for any tenant: the owner of a tenant chooses the addresses of its users. */
const ANY_TENANT = /^https:\/\/login\.microsoftonline\.com\/(common|organizations)(\/|$)/i

const line = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\p{Cc}]+$/u, 'must be one line')

const httpAddress = z
  .string()
  .max(500)
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an https address')
  .refine((text) => !/[?#@]/.test(text), 'must be an address without a user, a query and a fragment')

const entry = z
  .strictObject({
    // The other names are those of paths next to it.
    id: z
      .string()
      .regex(/^(?!(finish|email|mail)$)[a-z0-9][a-z0-9-]{0,39}$/, 'must be lower-case letters, digits and hyphens'),
    label: line(60),
    issuer: httpAddress.optional(),
    github: z.union([z.literal(true), httpAddress]).optional(),
    clientId: line(500),
    clientSecretEnv: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope'))
      .max(20)
      .optional(),
    register: z.enum(['open', 'invited', 'never']),
    domains: z
      .array(
        z
          .string()
          .toLowerCase()
          .regex(/^[a-z0-9.-]+$/, 'must be a domain'),
      )
      .min(1)
      .optional(),
    secondFactor: z.boolean().optional(),
  })
  .refine(({ issuer, github }) => (issuer === undefined) !== (github === undefined), {
    path: ['issuer'],
    message: 'must be there, or github, and not both',
  })
  .refine(({ issuer, scopes }) => issuer === undefined || scopes === undefined || scopes.includes('openid'), {
    path: ['scopes'],
    message: 'must include openid',
  })

const file = z
  .array(entry)
  .max(20)
  .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, 'must have each id once')

type Needed = Pick<Config, 'SIGNIN_PROVIDERS' | 'NODE_ENV' | 'secretOf'>

/**
 * Reads the providers; none without SIGNIN_PROVIDERS.
 * @throws ConfigError that names the file, and what is wrong in it.
 */
export function readProviders(config: Needed): Provider[] {
  const path = config.SIGNIN_PROVIDERS
  if (path === undefined) return []
  const wrong = (what: string): ConfigError => new ConfigError(`SIGNIN_PROVIDERS ${path}: ${what}.`)
  const parsed = file.safeParse(contentOf(path, wrong), { error: fieldFault })
  if (!parsed.success) {
    const { path: field, message } = parsed.error.issues[0]!
    throw wrong(`${fieldPath(field) || 'it'} ${message}`)
  }
  return parsed.data.map((one, index) => providerOf(one, config, (what) => wrong(`[${index}].${what}`)))
}

function contentOf(path: string, wrong: (what: string) => ConfigError): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw wrong(error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read')
  }
}

function providerOf(
  { clientSecretEnv, issuer, github, secondFactor = false, domains, scopes, ...fields }: z.infer<typeof entry>,
  { NODE_ENV, secretOf }: Needed,
  wrong: (what: string) => ConfigError,
): Provider {
  const clientSecret = secretOf(clientSecretEnv)
  if (clientSecret === undefined) throw wrong(`clientSecretEnv names ${clientSecretEnv}, which is not set or not free`)
  const at = github === true ? GITHUB : (github ?? issuer!)
  const { protocol, hostname, href } = new URL(at)
  if (protocol !== 'https:' && (NODE_ENV === 'production' || !isLocalHost(hostname)))
    throw wrong('issuer must be an https address')
  if (ANY_TENANT.test(href)) throw wrong('issuer must be that of one tenant')
  const base = href.replace(/\/$/, '')
  return {
    ...fields,
    github: github === undefined ? null : base,
    issuer: github === undefined ? href : `${base}/login/oauth`,
    clientSecret,
    domains: domains ?? null,
    scopes: scopes ?? (github === undefined ? ['openid', 'email'] : ['user:email']),
    hasSecondFactor: secondFactor,
  }
}
