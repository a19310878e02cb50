import { expect } from 'chai'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get } from '../../../scripts/harness/http.ts'
import { COMMANDS } from '../../../src/admin/commands.ts'
import { invite } from '../../../src/shared/identity/invitations.ts'
import { createTokenMint } from '../../../src/shared/identity/one-time-tokens.ts'
import { hashPassword } from '../../../src/shared/identity/passwords.ts'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { anOrganisation } from '../../../scripts/harness/factories.ts'
import { PASSWORD, aPerson, anEmail } from '../../support/console.ts'
import { aged } from './support/app.ts'
import { addPasskey } from './support/authenticator.ts'
import type { Who } from './support/provider.ts'
import { aBrowser, signInThere } from './support/provider.ts'
import { CALLBACK, atProviders, kindOf, shown } from './support/at-providers.ts'

describe('providers as they are configured', () => {
  const { web, off, github, newBrowser, identitiesOf, someone, asker } = atProviders()

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
    const unverified = await aPerson(web)
    expect(shown(await come('never', unverified.email))).to.deep.equal([403, 'forbidden'])
    expect((await web.get('/api/auth/me', unverified.token)).status).to.equal(200)
    const existing = await someone()
    expect(kindOf(await come('never', existing.email))).to.equal('pending')
    const browser = newBrowser()
    expect(kindOf(await browser.through({ subject: 'of no domain' }, 'domain'))).to.equal('email')
    const login = { email: existing.email, password: PASSWORD, pending: true }
    expect(shown(await browser.ask('POST', '/api/auth/login', login))).to.deep.equal([403, 'forbidden'])
    expect(await identitiesOf(existing.email)).to.deep.equal([])
    const moves = { subject: 'moves', email: `b${process.pid}@acme.example`, verified: true }
    await newBrowser().through(moves, 'domain')
    expect(kindOf(await newBrowser().through({ ...moves, email: anEmail() }, 'domain')), 'once in').to.equal('session')
  })

  it('asks for no other factor after one at the provider, in that session (swift-paperless #50)', async () => {
    const strict = await startTestWeb({ ...web.config, SECOND_FACTOR: 'all' })
    const may = async ({ json }: Reply) => (await get(`${strict.url}/api/keys`, json.token as string)).status
    const come = (who: Who, provider?: string) => aBrowser(strict.url).through(who, provider)
    try {
      const who = { subject: 'strict', email: anEmail(), verified: true }
      expect(await may(await come(who)), 'a new user').to.equal(403)
      expect(await may(await come({ ...who, mfa: true })), 'a factor there').to.equal(200)
      expect(await may(await come(who, 'trusted')), 'a trusted provider').to.equal(200)
      expect(await may(await come(who)), 'none there').to.equal(403)

      const { email } = await someone()
      const browser = aBrowser(strict.url)
      await browser.through({ subject: 'strictly by password', mfa: true })
      const login = { email, password: PASSWORD }
      const linked = await browser.ask('POST', '/api/auth/login', { ...login, pending: true })
      expect(await may(linked), 'by password').to.equal(200)
      expect(await may(await browser.ask('POST', '/api/auth/login', login)), 'a password alone').to.equal(403)
    } finally {
      await strict.stop()
    }
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
    await web.db('sessions').where({ user_id: user.id }).update(aged(web))
    for (const [method, path] of [
      ['POST', '/api/identities/local'],
      ['DELETE', `/api/identities/${data[0].id}`],
      ['POST', '/api/auth/delete'],
    ] as const)
      expect(shown(await me(method, path, { email: person.email })), path).to.deep.equal([403, 'proof_required'])
    const beginProof = async () => {
      const { url } = (await me('POST', '/api/auth/proof', { provider: true })).json
      const sent = Object.fromEntries(new URL(url as string).searchParams)
      expect(sent).to.include({ prompt: 'login', max_age: '0' })
      return url as string
    }
    const prove = async (who: Who) => {
      await browser.back(await signInThere(await beginProof(), who))
      return browser.finish()
    }
    const before = await beginProof()
    // As if the proof had been asked for after the sign-in there.
    await web.db('provider_attempts').update({ expires_at: web.db.raw(`expires_at + interval '2 minutes'`) })
    const old = await browser.back(await signInThere(before, { subject }))
    expect(shown(old), 'an old sign-in').to.deep.equal([401, 'invalid_credentials'])
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
    const { json } = await come('first')
    const browser = newBrowser()
    const asked = await browser.ask('POST', '/api/auth/proof', { provider: true }, { key: json.token as string })
    const there = new URL(asked.json.url as string).searchParams
    expect(there.get('prompt')).to.equal('select_account')
    await browser.back(new URL(`${CALLBACK}/github?code=first&state=${there.get('state')}`))
    expect((await browser.finish()).json, 'a proof without a time').to.deep.equal({ ok: true, done: 'proved' })
    for (const form of github.asked)
      expect([form.get('code_verifier')?.length, form.get('redirect_uri')]).to.deep.equal([43, `${CALLBACK}/github`])
  })

  it('is the only way with PASSWORDS=off, but for a link of an operator, once (sub2api #7227)', async () => {
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
    const spent = await Promise.all([spend(), spend()])
    expect(spent.map(kindOf).toSorted()).to.deep.equal(['invalid_token', 'session'])

    // A password from before counts for nothing: the sign-in of the last 5 minutes is the proof.
    await off
      .db('users')
      .where({ email })
      .update({ password_hash: await hashPassword(PASSWORD) })
    const me = (path: string, body: object) =>
      off.post(path, body, spent.find(({ json }) => json.token)!.json.token as string)
    expect(shown(await me('/api/auth/password', { currentPassword: PASSWORD, password: PASSWORD }))[0]).to.equal(404)
    expect((await me('/api/email/change', { email: anEmail() })).status).to.equal(200)
    const old = off.db.raw(`now() - interval '6 minutes'`)
    await off.db('sessions').update({ created_at: old, expires_at: off.db.raw(`now() + interval '1 hour'`) })
    for (const [path, body] of [
      ['/api/auth/proof', { password: PASSWORD }],
      ['/api/email/change', { email: anEmail(), password: PASSWORD }],
      ['/api/auth/delete', { email, password: PASSWORD, giveUpCredits: true }],
    ] as const)
      expect(shown(await me(path, body)), path).to.deep.equal([403, 'proof_required'])
    await off.db('sessions').update({ proved_at: off.db.fn.now() })
    expect((await me('/api/auth/delete', { email, giveUpCredits: true })).status).to.equal(200)
  })
})
