import { expect } from 'chai'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { COMMANDS } from '../../../src/admin/commands.ts'
import { invite } from '../../../src/shared/identity/invitations.ts'
import { createTokenMint } from '../../../src/shared/identity/one-time-tokens.ts'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { anOrganisation } from '../../../scripts/harness/factories.ts'
import { PASSWORD, anEmail } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { addPasskey } from './support/authenticator.ts'
import type { Who, startGitHub } from './support/provider.ts'
import { providerSettings, signInThere } from './support/provider.ts'
import { CALLBACK, atProviders, kindOf, shown } from './support/at-providers.ts'

describe('providers as they are configured', () => {
  const at = atProviders()
  const { newBrowser, identitiesOf, someone, asker, start } = at
  let web: TestConsole
  let off: TestConsole
  let github: Awaited<ReturnType<typeof startGitHub>>
  before(() => {
    web = at.web()
    off = at.off()
    github = at.github()
  })

  it('makes users as `register` and `domains` say, and accepts the invitation that it came with', async () => {
    const invited = async (to: string) => {
      const { id: accountId, userId } = await anOrganisation(web.db)
      await web.db('users').where({ id: userId }).update({ email_verified_at: web.db.fn.now() })
      let token = ''
      const mint = (id: MailId): string => (token = createTokenMint(web.config.APP_SECRET)('invitation', id))
      await invite(web.db, { accountId, userId }, { email: to, role: 'member', mint })
      return `?invitation=${token}`
    }
    const come = (provider: string, email: string, query?: string) =>
      newBrowser().through({ email, verified: true }, provider, query)
    expect(shown(await come('never', anEmail()))).to.deep.equal([403, 'forbidden'])
    expect(shown(await come('invited', anEmail()))).to.deep.equal([403, 'forbidden'])
    expect(shown(await come('invited', anEmail(), await invited(anEmail())))).to.deep.equal([403, 'forbidden'])
    const email = anEmail()
    const { json } = await come('invited', email, await invited(email))
    expect((await web.get('/api/accounts', json.token as string)).json.data).to.have.length(2)
    expect(shown(await come('domain', anEmail()))).to.deep.equal([403, 'forbidden'])
    expect(shown(await come('domain', 'x@sub.acme.example'))).to.deep.equal([403, 'forbidden'])
    expect(kindOf(await come('domain', `a${process.pid}@acme.example`))).to.equal('session')
    const existing = await someone()
    expect(kindOf(await come('never', existing.email))).to.equal('pending')
    const browser = newBrowser()
    expect(kindOf(await browser.through({ subject: 'of no domain' }, 'domain'))).to.equal('email')
    const login = { email: existing.email, password: PASSWORD, pending: true }
    expect(shown(await browser.ask('POST', '/api/auth/login', login))).to.deep.equal([403, 'forbidden'])
    expect(await identitiesOf(existing.email)).to.deep.equal([])
  })

  it('connects accounts from a fresh session, lists them, and never disconnects the last way in', async () => {
    const person = await someone()
    const browser = newBrowser()
    const me = (method: string, path: string, body?: unknown) => browser.ask(method, path, body, { key: person.token })
    const subject = `linked ${person.email}`
    const connect = async () => {
      const { url } = (await me('POST', '/api/identities/local', {})).json
      await browser.back(await signInThere(url as string, { subject }))
      return browser.finish()
    }
    expect((await connect()).json).to.deep.equal({ ok: true, done: 'linked' })
    expect(shown(await connect())).to.deep.equal([409, 'identity_taken'])
    const { data } = (await me('GET', '/api/identities')).json
    expect(data).to.have.length(1)
    expect(data[0]).to.include({ provider: 'local', label: 'Local' })
    await web.db('users').where({ email: person.email }).update({ password_hash: 'none' })
    const remove = () => me('DELETE', `/api/identities/${data[0].id}`)
    expect(shown(await remove())).to.deep.equal([409, 'last_sign_in'])
    await addPasskey(asker(person.token))
    const user = (await findUserByEmail(web.db, person.email))!
    await web
      .db('sessions')
      .where({ user_id: user.id })
      .update({
        created_at: web.db.raw(`now() - interval '16 minutes'`),
        expires_at: web.db.raw(`now() + interval '1 hour'`),
      })
    for (const [method, path] of [
      ['POST', '/api/identities/local'],
      ['DELETE', `/api/identities/${data[0].id}`],
      ['POST', '/api/auth/delete'],
    ] as const)
      expect(
        shown(await me(method, path, method === 'POST' ? { email: person.email } : undefined)),
        path,
      ).to.deep.equal([403, 'proof_required'])
    const prove = async (who: Who) => {
      const { url } = (await me('POST', '/api/auth/proof', { provider: true })).json
      expect(new URL(url as string).searchParams.get('prompt')).to.equal('login')
      await browser.back(await signInThere(url as string, who))
      return browser.finish()
    }
    expect(shown(await prove({ subject: 'somebody else' }))).to.deep.equal([401, 'invalid_credentials'])
    expect(shown(await remove())).to.deep.equal([403, 'proof_required'])
    expect((await prove({ subject })).json).to.deep.equal({ ok: true, done: 'proved' })
    expect((await remove()).status).to.equal(200)
    const [passkey] = (await me('GET', '/api/auth/passkeys')).json.data
    expect(shown(await me('DELETE', `/api/auth/passkeys/${passkey.id}`))).to.deep.equal([409, 'last_sign_in'])
    expect((await me('POST', '/api/auth/delete', { email: person.email, giveUpCredits: true })).status).to.equal(200)
  })

  it('asks GitHub for the number of the user and a verified primary address, with PKCE', async () => {
    const come = async (code: string) => {
      const browser = newBrowser()
      const state = new URL(await browser.begin('github')).searchParams.get('state')!
      await browser.back(new URL(`${CALLBACK}/github?code=${code}&state=${state}`))
      return browser.finish()
    }
    expect((await come('first')).json.user).to.include({ email: 'gh-1@example.com', emailVerified: true })
    expect(await identitiesOf('gh-1@example.com')).to.deep.equal(['1'])
    expect((await come('second')).json).to.deep.equal({ ok: true, needs: 'email' })
    for (const form of github.asked)
      expect([form.get('code_verifier')?.length, form.get('redirect_uri')]).to.deep.equal([43, `${CALLBACK}/github`])
  })

  it('is 503 for a provider that is down, answers without end, or is another one; the others go on', async () => {
    expect(shown(await newBrowser().ask('GET', '/api/auth/sign-in/down'))).to.deep.equal([503, 'service_unavailable'])
    let body: () => string = () => ''
    const server = createServer((_, response) => response.setHeader('Content-Type', 'application/json').end(body()))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const odd = await start(providerSettings([{ id: 'odd', issuer }]))
    const ask = async () => shown(await newBrowser(odd).ask('GET', '/api/auth/sign-in/odd'))
    try {
      body = () => JSON.stringify({ issuer, authorization_endpoint: `${issuer}/auth`, x: 'x'.repeat(300_000) })
      expect(await ask(), 'too long').to.deep.equal([503, 'service_unavailable'])
      body = () => JSON.stringify({ issuer: 'https://evil.example', authorization_endpoint: `${issuer}/auth` })
      expect(await ask(), 'another issuer').to.deep.equal([503, 'service_unavailable'])
      body = () => JSON.stringify({ issuer, authorization_endpoint: `${issuer}/auth` })
      expect(await ask()).to.deep.equal([303, null])
    } finally {
      await odd.stop()
      server.close()
    }
  })

  it('is the only way with PASSWORDS=off, but for a link of an operator, once', async () => {
    expect((await off.get('/api/auth/providers')).json).to.deep.equal({
      ok: true,
      data: [{ id: 'off', label: 'Local' }],
      passwords: false,
    })
    const email = anEmail()
    for (const path of ['auth/register', 'auth/login', 'email/forgot', 'email/reset'])
      expect((await off.post(`/api/${path}`, { email, password: PASSWORD })).status, path).to.equal(404)
    expect(kindOf(await newBrowser(off).through({ email, verified: true }, 'off'))).to.equal('session')
    const command = COMMANDS.find(({ usage }) => usage.startsWith('login-link'))!
    const { link } = (await command.run(off.db, [email], {})).json as { link: string }
    const token = new URL(link).hash.replace('#token=', '')
    const spend = () => off.post('/api/auth/sign-in/mail', { token })
    expect((await Promise.all([spend(), spend()])).map(kindOf).toSorted()).to.deep.equal(['invalid_token', 'session'])
  })
})
