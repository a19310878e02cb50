import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Context } from 'oidc-provider'

/** How a client is known to the local provider. */
export const LOCAL_CLIENT = { id: 'tollgate', secret: 'the secret of a client on this machine' }

/** A provider on this machine. */
export type LocalProvider = { issuer: string; close: () => Promise<void> }

/**
 * `redirectUris`: where browsers may come back to; at a loopback address without a port any port is right. `conform`:
 * whether addresses are in the answer for users alone, and not in ID tokens, as the specification has it.
 */
export type LocalProviderOptions = { port?: number; redirectUris: string[]; conform?: boolean }

type Account = { email: string; isVerified: boolean }

const PAGE = (uid: string): string => `<!doctype html><html lang="en"><title>Local provider</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<body style="font-family:sans-serif;max-width:24rem;margin:2rem auto;padding:0 1rem"><h1>Local provider</h1>
<p>Anybody can sign in here, as anybody: it is for trying things on this machine.</p>
<form method="post" action="/interaction/${uid}">
<p><label>E-mail address<br><input name="email" type="email" autofocus></label></p>
<p><label><input name="verified" type="checkbox" checked> The address is verified</label></p>
<p><label><input name="mfa" type="checkbox"> A second factor was asked for</label></p>
<p><button>Sign in</button></p></form></body></html>`

/** What the provider is made of. Anybody has an account, and nobody is asked whether they agree. */
function configurationOf({ redirectUris, conform }: LocalProviderOptions, accounts: Map<string, Account>): object {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    clients: [
      {
        client_id: LOCAL_CLIENT.id,
        client_secret: LOCAL_CLIENT.secret,
        redirect_uris: redirectUris,
        ...(redirectUris.every((uri) => new URL(uri).port === '' && uri.startsWith('http:')) && {
          application_type: 'native',
        }),
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'local' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: conform,
    features: { devInteractions: { enabled: false } },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    interactions: { url: (_ctx: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_ctx: Context, id: string) => ({
      accountId: id,
      claims: () => {
        const { email = '', isVerified = false } = accounts.get(id) ?? {}
        return { sub: id, ...(email && { email, email_verified: isVerified }) }
      },
    }),
    loadExistingGrant: async ({ oidc }: Context) => {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
  }
}

/**
 * Starts a real OpenID provider, at which anybody signs in as anybody. The form takes `subject`, too: what the provider
 * calls the user, else the address.
 */
export async function startProvider({ port = 0, redirectUris, conform = true }: LocalProviderOptions) {
  const { default: Provider } = await import('oidc-provider')
  const accounts = new Map<string, Account>()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, configurationOf({ redirectUris, conform }, accounts))
  const serve = provider.callback()
  async function interact(request: IncomingMessage, response: ServerResponse, uid: string): Promise<void> {
    if (request.method !== 'POST') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8').end(PAGE(uid))
      return
    }
    let text = ''
    for await (const part of request) text += String(part)
    const form = new URLSearchParams(text)
    const email = form.get('email') ?? ''
    const accountId = form.get('subject') || email || 'nobody'
    accounts.set(accountId, { email, isVerified: form.has('verified') })
    const login = { accountId, amr: form.has('mfa') ? ['pwd', 'mfa'] : ['pwd'], remember: false }
    const result = form.has('deny') ? { error: 'access_denied' } : { login, consent: {} }
    await provider.interactionFinished(request, response, result)
  }
  server.on('request', (request, response) => {
    const uid = /^\/interaction\/([\w-]+)$/.exec(request.url ?? '')?.[1]
    if (uid === undefined) serve(request, response)
    else interact(request, response, uid).catch(() => response.writeHead(400).end('This sign-in is over.'))
  })
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { issuer, close } satisfies LocalProvider
}
