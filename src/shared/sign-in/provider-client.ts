/**
 * Asks providers who somebody is: the authorization code flow with PKCE, state and nonce. Of OpenID Connect the library
 * checks the issuer (also of the answer, RFC 9207), audience, nonce, expiry and signature; GitHub is asked by its API.
 * Answers are bounded in size and time. No token outlives the function that got it.
 */
import { createHmac, hkdfSync } from 'node:crypto'
import * as oidc from 'openid-client'
import { z } from 'zod'
import type { Config } from '../platform/config/config.ts'
import { ApiError } from '../platform/errors.ts'
import { cachedReading } from '../platform/process/cached.ts'
import { parseEmail } from '../terms/emails.ts'
import type { Provider } from './providers.ts'

/** Who somebody is at a provider. `email`: in lower case, if they have one that can be used here. */
export type Claims = {
  issuer: string
  subject: string
  email: string | null
  isVerified: boolean
  hasPassedFactor: boolean
}

/** A provider that can be asked. */
export type ProviderClient = Provider & {
  /**
   * Where a browser goes to sign in. `again`: the provider is asked to have its user sign in, not to recognise them.
   * @throws ApiError service_unavailable while the provider is down.
   */
  addressFor: (state: string, options?: { again?: boolean }) => Promise<URL>
  /**
   * Who came back with this query. The state must have been spent. `since`: they must have signed in there after this
   * moment, if the provider reports when they did.
   * @throws ApiError service_unavailable; invalid_credentials if the provider refused, or its answer is not right.
   */
  claimsOf: (query: string, state: string, since: Date | null) => Promise<Claims>
  /** Asks for what the provider publishes of itself. @throws whatever is wrong with it. */
  probe: () => Promise<void>
}

/** The providers by their id. */
export type ProviderClients = ReadonlyMap<string, ProviderClient>

const TIMEOUT_SECONDS = 10
const DISCOVERED_MS = 3_600_000
const MAX_BYTES = 262_144
/** Control characters and halves of characters are none of a name, and cannot be stored as they are. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,255}$/u
/** How far the clock of a provider may be behind ours. */
const SKEW_SECONDS = 60
/** Refuses `prompt=login`, as GitHub does not know it: there the user at least chooses their account. */
const GOOGLE = 'https://accounts.google.com/'

/** Makes the clients of all providers. */
export const createProviderClients = (
  config: Pick<Config, 'APP_SECRET' | 'BASE_URL'>,
  providers: readonly Provider[],
): ProviderClients => new Map(providers.map((one) => [one.id, createClient(config, one)]))

function createClient({ APP_SECRET, BASE_URL }: Pick<Config, 'APP_SECRET' | 'BASE_URL'>, provider: Provider) {
  const callback = `${BASE_URL}/auth/callback/${provider.id}`
  const discover = cachedReading({ forMs: DISCOVERED_MS }, () => configurationOf(provider))
  const reach = (): Promise<oidc.Configuration> =>
    discover().catch((cause: unknown) => {
      throw unavailable(provider, cause)
    })
  const secretsOf = secretsUnder(APP_SECRET)
  const client: ProviderClient = {
    ...provider,
    addressFor: async (state, { again = false } = {}) => {
      const configuration = await reach()
      const { verifier, nonce } = secretsOf(state)
      return oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: callback,
        scope: provider.scopes.join(' '),
        state,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(provider.github === null && { nonce }),
        ...(again && againAt(provider)),
      })
    },
    claimsOf: (query, state, since) =>
      unlessDown(provider, async () => {
        const { verifier, nonce } = secretsOf(state)
        const checks = { expectedState: state, pkceCodeVerifier: verifier }
        const url = new URL(`${callback}?${query}`)
        return provider.github === null
          ? askOidc(provider, await reach(), url, { ...checks, expectedNonce: nonce, since })
          : askGitHub(provider, provider.github, await reach(), url, checks)
      }),
    probe: async () => {
      await discover()
    },
  }
  return client
}

/** How a provider is asked for a new sign-in. By OpenID Connect, `max_age` obliges it to report when that was. */
const againAt = ({ github, issuer }: Provider): Record<string, string> =>
  github !== null || issuer === GOOGLE ? { prompt: 'select_account' } : { prompt: 'login', max_age: '0' }

/** What a browser must not know of its own attempt follows from its state, so that nothing of it is stored. */
function secretsUnder(appSecret: string): (state: string) => { verifier: string; nonce: string } {
  const key = Buffer.from(hkdfSync('sha256', appSecret, '', 'tollgate provider attempts', 32))
  const of = (what: string, state: string) => createHmac('sha256', key).update(`${what}\n${state}`).digest('base64url')
  return (state) => ({ verifier: of('verifier', state), nonce: of('nonce', state) })
}

async function configurationOf(provider: Provider): Promise<oidc.Configuration> {
  const { github, issuer, clientId, clientSecret } = provider
  const isPlain = issuer.startsWith('http:')
  if (github !== null) {
    const metadata = {
      issuer,
      authorization_endpoint: `${github}/login/oauth/authorize`,
      token_endpoint: `${github}/login/oauth/access_token`,
    }
    const made = new oidc.Configuration(metadata, clientId, {}, oidc.ClientSecretPost(clientSecret))
    if (isPlain) oidc.allowInsecureRequests(made)
    made[oidc.customFetch] = boundedFetch
    made.timeout = TIMEOUT_SECONDS
    return made
  }
  const found = await oidc.discovery(new URL(issuer), clientId, clientSecret, authOf(clientSecret), {
    timeout: TIMEOUT_SECONDS,
    [oidc.customFetch]: boundedFetch,
    execute: [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])],
  })
  // The library lets Microsoft's differ.
  if (new URL(found.serverMetadata().issuer).href !== issuer)
    throw new Error(`its issuer is ${found.serverMetadata().issuer}`)
  return found
}

/** How a provider is shown the secret: as RFC 6749 prefers it, unless it takes that form not. */
function authOf(secret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)]
  return (as, ...request) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = as
    return (methods.includes('client_secret_basic') ? basic : post)(as, ...request)
  }
}

/** Asks a server, follows nothing, and reads no more than a provider has to say. */
const boundedFetch: oidc.CustomFetch = async (url, options) => {
  const answer = await fetch(url, { ...options, redirect: 'manual' } as RequestInit)
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of answer.body ?? []) {
    length += (part as Uint8Array).length
    if (length > MAX_BYTES) throw new TypeError('the answer is too long')
    parts.push(part as Uint8Array)
  }
  const body = length === 0 ? null : Buffer.concat(parts)
  return new Response(body, { status: answer.status, headers: answer.headers })
}

type Checks = { expectedState: string; pkceCodeVerifier: string }
type OidcChecks = Checks & { expectedNonce: string; since: Date | null }

async function askOidc(
  provider: Provider,
  configuration: oidc.Configuration,
  url: URL,
  { since, ...checks }: OidcChecks,
): Promise<Claims> {
  const tokens = await oidc.authorizationCodeGrant(configuration, url, { ...checks, idTokenExpected: true })
  const token = tokens.claims()!
  const { auth_time: signedInAt = Infinity } = token
  if (since && signedInAt < since.getTime() / 1000 - SKEW_SECONDS)
    throw new ApiError('invalid_credentials', { message: `${provider.label} did not ask you to sign in again.` })
  const more =
    token['email'] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
      ? await oidc.fetchUserInfo(configuration, tokens.access_token, token.sub)
      : token
  const { amr } = token
  return claimsFrom(provider, token.sub, {
    email: more['email'],
    isVerified: more['email_verified'] === true,
    hasPassedFactor: Array.isArray(amr) && amr.includes('mfa'),
  })
}

const gitHubUser = z.object({ id: z.int().positive() })
const gitHubAddresses = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** The number is the subject: names can be changed, and taken over by others. */
async function askGitHub(
  provider: Provider,
  base: string,
  configuration: oidc.Configuration,
  url: URL,
  checks: Checks,
): Promise<Claims> {
  const { access_token: token } = await oidc.authorizationCodeGrant(configuration, url, checks)
  const api = base === 'https://github.com' ? 'https://api.github.com' : `${base}/api/v3`
  const get = async (path: string): Promise<unknown> => {
    const answer = await boundedFetch(`${api}${path}`, {
      method: 'GET',
      body: undefined,
      redirect: 'manual',
      headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.github+json', 'user-agent': 'Tollgate' },
      signal: AbortSignal.timeout(TIMEOUT_SECONDS * 1000),
    })
    if (!answer.ok) throw new TypeError(`GitHub answered ${answer.status}`)
    return answer.json()
  }
  const { id } = gitHubUser.parse(await get('/user'))
  const main = gitHubAddresses.parse(await get('/user/emails')).find(({ primary }) => primary)
  const isVerified = main?.verified === true
  return claimsFrom(provider, String(id), { email: main?.email, isVerified, hasPassedFactor: false })
}

function claimsFrom(
  { issuer, hasSecondFactor }: Provider,
  subject: string,
  { email, isVerified, hasPassedFactor }: { email: unknown; isVerified: boolean; hasPassedFactor: boolean },
): Claims {
  if (!SUBJECT.test(subject)) throw new ApiError('invalid_credentials')
  const address = typeof email === 'string' ? parseEmail(email) : null
  return {
    issuer,
    subject,
    email: address,
    isVerified: address !== null && isVerified,
    hasPassedFactor: hasSecondFactor || hasPassedFactor,
  }
}

/** What the library throws where a server did not answer, rather than answered wrongly. */
const SILENCE = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
])

const unavailable = ({ label }: Provider, cause: unknown): ApiError =>
  new ApiError('service_unavailable', { message: `${label} is not available right now.`, cause })

/** Asks who somebody is. @throws ApiError service_unavailable, invalid_credentials. */
async function unlessDown<T>(provider: Provider, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    const { code = '' } = cause as { code?: string }
    const isRefusal =
      cause instanceof oidc.AuthorizationResponseError ||
      cause instanceof oidc.ResponseBodyError ||
      (cause instanceof oidc.ClientError && !SILENCE.has(code))
    if (!isRefusal) throw unavailable(provider, cause)
    const message = `${provider.label} did not confirm this sign-in. Begin again.`
    throw new ApiError('invalid_credentials', { message, cause })
  }
}
