import { expect } from 'chai'
import { createSign, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiError } from '../../../src/shared/platform/errors.ts'
import type { Claims } from '../../../src/shared/sign-in/provider-client.ts'
import { createProviderClients } from '../../../src/shared/sign-in/provider-client.ts'

const aPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
const [key, another] = [aPair(), aPair()]
const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function signed(claims: object, { privateKey }: typeof key): string {
  const text = `${base64url({ alg: 'RS256', kid: 'one' })}.${base64url(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`
}

const HOW = { id: 'one', label: 'One', github: null, clientId: 'tollgate', clientSecret: 'x', scopes: ['openid'] }
const RULES = { register: 'open', domains: null, hasSecondFactor: false } as const

/** How a provider answers: the claims that differ, who signs them, and what it does at one of its addresses. */
type Odd = Record<string, (response: ServerResponse) => void>
type Manner = { claims?: object; signer?: typeof key; odd?: Odd; since?: Date }

describe('a provider that is asked', () => {
  let manner: Manner
  let nonce: string | null
  let issuer: string
  const now = () => Math.floor(Date.now() / 1000)
  const server = createServer((request, response) => {
    const place = request.url!.split('/').at(-1)!
    const odd = manner.odd?.[place]
    if (odd) return odd(response)
    const usual = { iss: issuer, sub: 'ada', aud: 'tollgate', nonce, iat: now(), exp: now() + 60 }
    const id_token = signed({ ...usual, ...manner.claims }, manner.signer ?? key)
    const answers: Record<string, object> = {
      'openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      },
      token: { access_token: 'x', token_type: 'bearer', id_token },
      jwks: { keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] },
    }
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answers[place]))
  })
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => void server.close())

  /** Whom the provider has signed in, or the code of the refusal. */
  async function ask(how: Manner): Promise<Claims | string> {
    manner = how
    const provider = { ...HOW, ...RULES, issuer: `${issuer}/` }
    const config = { APP_SECRET: 'x'.repeat(32), BASE_URL: 'https://gate.example' }
    const client = createProviderClients(config, [provider]).get('one')!
    try {
      nonce = (await client.addressFor('state')).searchParams.get('nonce')
      return await client.claimsOf('code=x&state=state', 'state', how.since ?? null)
    } catch (error) {
      return (error as ApiError).code
    }
  }

  it('is believed what it signs: booleans, not texts (better-auth PR 9578), lists, later times', async () => {
    const since = new Date()
    const MANNERS: [Manner, object][] = [
      [{}, { subject: 'ada', email: null, isVerified: false, hasPassedFactor: false }],
      [{ claims: { email: 'A@b.example', email_verified: true } }, { email: 'a@b.example', isVerified: true }],
      [{ claims: { email: 'a@b.example', email_verified: 'true' } }, { email: 'a@b.example', isVerified: false }],
      [{ claims: { email: 'not one', email_verified: true } }, { email: null, isVerified: false }],
      [{ claims: { amr: ['pwd', 'mfa'] } }, { hasPassedFactor: true }],
      [{ claims: { amr: 'mfa' } }, { hasPassedFactor: false }],
      [{ since, claims: { auth_time: now() } }, { subject: 'ada' }],
      [{ since }, { subject: 'ada' }],
    ]
    for (const [how, due] of MANNERS) expect(await ask(how), JSON.stringify(how)).to.include(due)
  })

  it('is refused what it did not sign, or not for this sign-in, client and moment', async () => {
    const MANNERS: Manner[] = [
      { signer: another },
      { claims: { iss: 'https://evil.example' } },
      { claims: { aud: 'another' } },
      { claims: { nonce: 'another' } },
      { claims: { nonce: undefined } },
      { claims: { exp: now() - 600 } },
      { claims: { sub: '' } },
      { since: new Date(), claims: { auth_time: now() - 600 } },
    ]
    for (const how of MANNERS) expect(await ask(how), JSON.stringify(how.claims)).to.equal('invalid_credentials')
  })

  it('is 503 where it is down, leads elsewhere (also into a private network), or answers without end', async () => {
    const MANNERS: [string, (response: ServerResponse) => void][] = [
      ['an error', (response) => response.writeHead(500).end()],
      ['no answer', (response) => response.destroy()],
      ['a redirect', (response) => response.writeHead(307, { location: `${issuer}/elsewhere` }).end()],
      ['no end', (response) => response.end(JSON.stringify({ x: 'x'.repeat(300_000) }))],
      ['no JSON', (response) => response.end('<html>')],
    ]
    for (const place of ['openid-configuration', 'token', 'jwks'])
      for (const [name, answer] of MANNERS) {
        const odd = {
          [place]: (response: ServerResponse) => answer(response.setHeader('Content-Type', 'application/json')),
        }
        expect(await ask({ odd }), `${place}: ${name}`).to.equal('service_unavailable')
      }
    const another = (response: ServerResponse) => response.end(JSON.stringify({ issuer: 'https://evil.example' }))
    expect(await ask({ odd: { 'openid-configuration': another } })).to.equal('service_unavailable')
  })
})
