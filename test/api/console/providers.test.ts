import { expect } from 'chai'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startProvider } from '../../../scripts/services/provider.ts'
import type { LocalProvider } from '../../../scripts/services/provider.ts'
import type { Settings, TestWeb } from '../../../scripts/harness/harness.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { COMMANDS } from '../../../src/admin/commands.ts'
import { invite } from '../../../src/shared/identity/invitations.ts'
import { createTokenMint } from '../../../src/shared/identity/one-time-tokens.ts'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { anOrganisation } from '../../../scripts/harness/factories.ts'
import { PASSWORD, aPerson, anEmail, consoleConfig, startConsole } from '../../support/console.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { addApp } from './support/app.ts'
import { addPasskey } from './support/authenticator.ts'
import type { Who } from './support/provider.ts'
import { aBrowser, providerSettings, signInThere, startGitHub } from './support/provider.ts'

const shown = ({ status, json }: Reply) => [status, json?.error ?? null]
const CALLBACK = 'https://gate.example/auth/callback'

describe('signing in at a provider', () => {
  let provider: LocalProvider
  let github: Awaited<ReturnType<typeof startGitHub>>
  let web: TestConsole
  let other: TestWeb
  let off: TestConsole
  const start = async (settings: Settings) =>
    startConsole(await consoleConfig({ TRUST_PROXY: '1', SIGNUP_CREDITS: '7', ...settings }))
  before(async () => {
    const ids = ['local', 'trusted', 'invited', 'never', 'domain', 'off']
    provider = await startProvider({ redirectUris: ids.map((id) => `${CALLBACK}/${id}`) })
    github = await startGitHub({
      first: { id: 1, emails: [{ email: 'gh-1@example.com', primary: true, verified: true }] },
      second: { id: 2, emails: [{ email: 'gh-2@example.com', primary: true, verified: false }] },
    })
    const { issuer } = provider
    web = await start(
      providerSettings([
        { id: 'local', issuer },
        { id: 'trusted', issuer, secondFactor: true },
        { id: 'invited', issuer, register: 'invited' },
        { id: 'never', issuer, register: 'never' },
        { id: 'domain', issuer, domains: ['acme.example'] },
        { id: 'github', github: github.url, label: 'GitHub' },
        { id: 'down', issuer: 'http://127.0.0.1:9' },
      ]),
    )
    other = await startTestWeb(web.config)
    off = await start({ ...providerSettings([{ id: 'off', issuer }]), PASSWORDS: 'off' })
  })
  after(async () => {
    await Promise.all([other.stop(), off.stop()])
    await web.stop()
    await Promise.all([provider.close(), github.close()])
  })

  const newBrowser = (at = web) => aBrowser(at.url)
  const identitiesOf = async (email: string) =>
    web.db('identities').whereIn('user_id', web.db('users').where({ email }).select('id')).pluck<string[]>('subject')
  const verified = async (person: Person): Promise<Person> => {
    await web.db('users').where({ email: person.email }).update({ email_verified_at: web.db.fn.now() })
    return person
  }
  const someone = async () => verified(await aPerson(web))
  const asker = (token: string) => (method: string, path: string, body?: unknown) =>
    send(method, `${web.url}${path}`, { key: token, body })
  const mailedToken = async (email: string): Promise<string> => {
    const { id } = await web.db('mails').where({ recipient: email, kind: 'sign_in' }).orderBy('id', 'desc').first()
    return createTokenMint(web.config.APP_SECRET)('sign_in', id as MailId)
  }
  const kindOf = ({ json }: Reply): string =>
    json.token ? 'session' : json.ticket ? 'ticket' : json.pending ? 'pending' : (json.needs ?? json.error)

  it('makes a verified user without a password, with credits, mail and record, known by the subject', async () => {
    const email = anEmail()
    const { json } = await newBrowser().through({ subject: 'stays', email, verified: true })
    expect(json.user).to.deep.include({ email, emailVerified: true, credits: 7 })
    const again = await newBrowser().through({ subject: 'stays', email: anEmail(), verified: true })
    expect(again.json.user.id).to.equal(json.user.id)
    const user = (await findUserByEmail(web.db, email))!
    expect(await web.db('mails').where({ user_id: user.id }).pluck('kind')).to.deep.equal(['sign_in_changed'])
    expect(await web.db('operator_actions').where({ operator_id: user.id }).pluck('action')).to.deep.equal([
      'identity_linked',
    ])
    for (const password of ['', 'none', PASSWORD])
      expect(shown(await web.post('/api/auth/login', { email, password }))).to.deep.equal([401, 'invalid_credentials'])
  })

  it('leads to the exact address with PKCE, state and nonce, and comes back to one path of its own', async () => {
    const browser = newBrowser()
    const address = new URL(
      await browser.begin('local', '?next=https://evil.example&redirect_uri=https://evil.example'),
    )
    const sent = Object.fromEntries(address.searchParams)
    expect(sent).to.include({ redirect_uri: `${CALLBACK}/local`, code_challenge_method: 'S256', response_type: 'code' })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(sent[name], name).to.match(/^[\w-]{43}$/)
    const back = await browser.back(await signInThere(address.href, { email: anEmail(), verified: true }))
    expect([back.status, back.headers.get('location')]).to.deep.equal([303, '/sign-in/done'])
    expect(back.headers.get('cache-control')).to.equal('no-store')
    const stored =
      JSON.stringify(await web.db('provider_attempts')) + JSON.stringify(await web.db('pending_identities'))
    for (const secret of [sent.state!, sent.nonce!]) expect(stored).not.to.contain(secret)
  })

  it('takes a state once, in its browser, at its provider, in time (agentcore #903, stonyx-oauth #36)', async () => {
    const browser = newBrowser()
    const there = await signInThere(await browser.begin(), { email: anEmail(), verified: true })
    const refused = [401, 'invalid_ticket']
    expect(shown(await newBrowser().back(there)), 'without a cookie').to.deep.equal(refused)
    const another = newBrowser()
    await another.begin()
    expect(shown(await another.back(there)), 'another browser').to.deep.equal(refused)
    const elsewhere = new URL(there.href.replace('/callback/local', '/callback/trusted'))
    expect(shown(await browser.back(elsewhere)), 'another provider').to.deep.equal(refused)
    const both = await Promise.all([browser.back(there), browser.back(there, other.url)])
    expect(both.map(({ status }) => status).toSorted()).to.deep.equal([303, 401])
    const finished = await Promise.all([browser.finish(), browser.finish(other.url), browser.finish()])
    expect(finished.map(kindOf).toSorted()).to.deep.equal(['invalid_ticket', 'invalid_ticket', 'session'])

    const late = await signInThere(await browser.begin(), { email: anEmail(), verified: true })
    await web.db('provider_attempts').update({ expires_at: web.db.fn.now() })
    expect(shown(await browser.back(late)), 'late').to.deep.equal(refused)
    await browser.back(await signInThere(await browser.begin(), { email: anEmail(), verified: true }))
    await web.db('pending_identities').update({ created_at: web.db.raw(`now() - interval '5 minutes'`) })
    expect(shown(await browser.finish()), 'finished late').to.deep.equal(refused)
  })

  it('refuses the answer of another issuer (mix-up), and who cancels; a browser gets a page', async () => {
    const browser = newBrowser()
    const come = async (who: Who, change: (query: URLSearchParams) => void) => {
      const there = await signInThere(await browser.begin(), who)
      change(there.searchParams)
      return browser.back(there)
    }
    const who = { email: anEmail(), verified: true }
    const changes: [string, Who, (query: URLSearchParams) => void][] = [
      ['iss', who, (query) => query.set('iss', 'https://evil.example')],
      ['no iss', who, (query) => query.delete('iss')],
      ['code', who, (query) => query.set('code', 'x'.repeat(43))],
      ['cancelled', { deny: true }, () => {}],
    ]
    for (const [name, whom, change] of changes) {
      expect(shown(await come(whom, change)), name).to.deep.equal([401, 'invalid_credentials'])
      expect(shown(await browser.finish()), name).to.deep.equal([401, 'invalid_ticket'])
    }
    const page = await get(`${web.url}/auth/callback/local?state=x`, undefined, { accept: 'text/html' })
    expect([page.status, page.headers.get('location')]).to.deep.equal([303, '/sign-in/done?problem=invalid_ticket'])
    expect(shown(await browser.ask('GET', '/api/auth/sign-in/nobody'))).to.deep.equal([404, 'not_found'])
  })

  it('links nothing by an equal address: a proof of that very user comes after it (sub2api #5350)', async () => {
    const [victim, stranger] = [await someone(), await someone()]
    const browser = newBrowser()
    const who = { subject: `of ${victim.email}`, email: victim.email, verified: true }
    const { json } = await browser.through(who)
    expect(json).to.deep.equal({ ok: true, pending: { provider: 'Local', email: victim.email } })
    const login = (person: Person, pending: unknown, from = browser) =>
      from.ask('POST', '/api/auth/login', { email: person.email, password: PASSWORD, pending })
    expect(kindOf(await login(victim, false)), 'without pending').to.equal('session')
    expect(shown(await login(stranger, true)), 'another user').to.deep.equal([403, 'forbidden'])
    expect(shown(await login(victim, true, newBrowser())), 'another browser').to.deep.equal([401, 'invalid_ticket'])
    expect(shown(await browser.ask('POST', '/api/auth/sign-in/email', { email: stranger.email }))).to.deep.equal([
      400,
      'invalid_request',
    ])
    expect(await identitiesOf(victim.email)).to.deep.equal([])
    expect(kindOf(await login(victim, true))).to.equal('session')
    expect(shown(await login(victim, true)), 'twice').to.deep.equal([401, 'invalid_ticket'])
    expect(await identitiesOf(victim.email)).to.deep.equal([who.subject])
    expect(kindOf(await newBrowser().through(who))).to.equal('session')
  })

  it('never believes an address that is not verified, not even "true" (nOAuth, better-auth PR 9578)', async () => {
    const victim = await someone()
    for (const isVerified of [false, 'text'] as const) {
      const attacker = newBrowser()
      const who = { subject: `attacker ${isVerified}`, email: victim.email, verified: isVerified }
      expect((await attacker.through(who)).json).to.deep.equal({ ok: true, needs: 'email' })
      const free = anEmail()
      const ofNobody = await attacker.ask('POST', '/api/auth/sign-in/email', { email: free })
      const asked = await attacker.ask('POST', '/api/auth/sign-in/email', { email: victim.email })
      expect(asked.text.replace(victim.email, free)).to.equal(ofNobody.text)
      const token = await mailedToken(victim.email)
      expect(shown(await newBrowser().ask('POST', '/api/auth/sign-in/mail', { token }))).to.deep.equal([
        400,
        'invalid_token',
      ])
      expect(await identitiesOf(victim.email)).to.deep.equal([])
    }
  })

  it('proves an address by a mail, once, in the browser that asked; then it links, or makes a user', async () => {
    for (const email of [(await someone()).email, anEmail()]) {
      const browser = newBrowser()
      await browser.through({ subject: `by mail ${email}`, verified: false })
      await browser.ask('POST', '/api/auth/sign-in/email', { email })
      const token = await mailedToken(email)
      const spend = (at = web.url) => browser.ask('POST', '/api/auth/sign-in/mail', { token }, { at })
      const both = await Promise.all([spend(), spend(other.url)])
      expect(both.map(kindOf).toSorted()).to.deep.equal(['invalid_token', 'session'])
      expect(await identitiesOf(email)).to.deep.equal([`by mail ${email}`])
    }
  })

  it('takes everything from whoever registered an address without verifying it (pre-hijacking)', async () => {
    const attacker = await aPerson(web)
    const me = asker(attacker.token)
    const key = (await me('POST', '/api/keys', { name: 'x' })).json
    const own = newBrowser()
    const { url } = (await own.ask('POST', '/api/identities/local', {}, { key: attacker.token })).json
    await own.back(await signInThere(url as string, { subject: `hijacker ${attacker.email}` }))
    expect((await own.finish()).json).to.deep.equal({ ok: true, done: 'linked' })
    await addPasskey(me)
    const { json } = await newBrowser().through({
      subject: `owner ${attacker.email}`,
      email: attacker.email,
      verified: true,
    })
    expect(json.user).to.include({ email: attacker.email, emailVerified: true })
    expect((await me('GET', '/api/auth/me')).status).to.equal(401)
    expect((await get(`${web.url}/v1/key`, key.key as string)).status).to.equal(401)
    expect((await web.post('/api/auth/login', { email: attacker.email, password: PASSWORD })).status).to.equal(401)
    expect(await identitiesOf(attacker.email)).to.deep.equal([`owner ${attacker.email}`])
    expect((await web.get('/api/auth/second-factor', json.token as string)).json).to.include({ passkeys: 0 })
  })

  it('needs the second factor at every entry, but where the provider has asked for one (ovumcy PR 705)', async () => {
    const guarded = async () => {
      const person = await someone()
      const { app } = await addApp(asker(person.token))
      await web.db('totp_secrets').update({ last_step: 0 })
      return { ...person, app }
    }
    const link = async ({ email }: Person) => {
      const command = COMMANDS.find(({ usage }) => usage.startsWith('login-link'))!
      return new URL(((await command.run(web.db, [email], {})).json as { link: string }).link).hash.slice(7)
    }
    type Guarded = Awaited<ReturnType<typeof guarded>>
    const first = async (person: Guarded, more: Who, provider?: string) => {
      const browser = newBrowser()
      await browser.through({ subject: `guarded ${person.email}`, email: person.email, ...more }, provider)
      return browser
    }
    const byPassword = async (person: Guarded, more: Who, provider?: string) =>
      (await first(person, { verified: true, ...more }, provider)).ask('POST', '/api/auth/login', {
        email: person.email,
        password: PASSWORD,
        pending: true,
      })
    const byMail = async (person: Guarded, more: Who, provider?: string) => {
      const browser = await first(person, more, provider)
      await browser.ask('POST', '/api/auth/sign-in/email', { email: person.email })
      return browser.ask('POST', '/api/auth/sign-in/mail', { token: await mailedToken(person.email) })
    }
    const issuerOfLocal = () => provider.issuer
    const linked = async (person: Guarded, more: Who, provider?: string) => {
      const user = (await findUserByEmail(web.db, person.email))!
      const row = { id: crypto.randomUUID(), user_id: user.id, subject: `guarded ${person.email}` }
      await web.db('identities').insert({ ...row, issuer: new URL(issuerOfLocal()).href })
      return newBrowser().through({ subject: row.subject, ...more }, provider)
    }
    const ENTRIES: [string, 'ticket' | 'session', (person: Guarded) => Promise<Reply>][] = [
      ['a password that links', 'ticket', (person) => byPassword(person, {})],
      ['a password that links, after a factor there', 'ticket', (person) => byPassword(person, { mfa: true })],
      ['a mail that links', 'ticket', (person) => byMail(person, {})],
      ['a mail that links, after a factor there', 'ticket', (person) => byMail(person, { mfa: true })],
      ['a mail that links, of a trusted provider', 'ticket', (person) => byMail(person, {}, 'trusted')],
      ['a linked identity', 'ticket', (person) => linked(person, {})],
      ['a linked identity, after a factor there', 'session', (person) => linked(person, { mfa: true })],
      ['a linked identity of a trusted provider', 'session', (person) => linked(person, {}, 'trusted')],
      [
        'a link of an operator',
        'ticket',
        async (person) => web.post('/api/auth/sign-in/mail', { token: await link(person) }),
      ],
    ]
    for (const [name, due, go] of ENTRIES) expect(kindOf(await go(await guarded())), name).to.equal(due)

    const person = await guarded()
    const browser = await first(person, { verified: true })
    const half = await browser.ask('POST', '/api/auth/login', {
      email: person.email,
      password: PASSWORD,
      pending: true,
    })
    expect(await identitiesOf(person.email), 'before the second step').to.deep.equal([])
    const step = { ticket: half.json.ticket, code: person.app() }
    expect(kindOf(await browser.ask('POST', '/api/auth/second-factor', step))).to.equal('session')
    expect(await identitiesOf(person.email)).to.deep.equal([`guarded ${person.email}`])
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
