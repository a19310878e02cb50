import { expect } from 'chai'
import { get } from '../../../scripts/harness/http.ts'
import { findUserByEmail } from '../../../src/shared/identity/users.ts'
import { PASSWORD, aPerson, anEmail } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { addApp } from './support/app.ts'
import { addPasskey } from './support/authenticator.ts'
import type { Who } from './support/provider.ts'
import { signInThere } from './support/provider.ts'
import { CALLBACK, atProviders, kindOf, shown } from './support/at-providers.ts'

describe('signing in at a provider', () => {
  const { web, other, newBrowser, identitiesOf, someone, asker, mailedToken } = atProviders()

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
    const query = '?next=https://evil.example&redirect_uri=https://evil.example'
    const address = new URL(await browser.begin('local', query))
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

  it('takes a state once, in its browser, in time (agentcore #903, stonyx-oauth #36, lion-reader #1263)', async () => {
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
    expect(both.map(({ status }) => status)).to.have.members([303, 401])
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
      ['a subject that cannot be stored', { ...who, subject: 'a\0b' }, () => {}],
      ['a subject that is too long', { ...who, subject: 'x'.repeat(256) }, () => {}],
    ]
    for (const [name, whom, change] of changes) {
      expect(shown(await come(whom, change)), name).to.deep.equal([401, 'invalid_credentials'])
      expect(shown(await browser.finish()), name).to.deep.equal([401, 'invalid_ticket'])
    }
    const page = await get(`${web.url}/auth/callback/local?state=x`, undefined, { accept: 'text/html' })
    expect([page.status, page.headers.get('location')]).to.deep.equal([303, '/sign-in/done?problem=invalid_ticket'])
    expect(shown(await browser.ask('GET', '/api/auth/sign-in/nobody'))).to.deep.equal([404, 'not_found'])
    expect(shown(await browser.ask('GET', '/api/auth/sign-in/down'))).to.deep.equal([503, 'service_unavailable'])
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
    const mailed = await browser.ask('POST', '/api/auth/sign-in/email', { email: stranger.email })
    expect(shown(mailed)).to.deep.equal([400, 'invalid_request'])
    expect(await identitiesOf(victim.email)).to.deep.equal([])
    expect(kindOf(await login(victim, true))).to.equal('session')
    expect(shown(await login(victim, true)), 'twice').to.deep.equal([401, 'invalid_ticket'])
    expect(await identitiesOf(victim.email)).to.deep.equal([who.subject])
    expect(kindOf(await newBrowser().through(who))).to.equal('session')
  })

  it('never believes an address that is not verified (nOAuth), nor shows whether it has an account', async () => {
    const victim = await someone()
    const attacker = newBrowser()
    const who = { subject: 'attacker', email: victim.email, verified: false }
    expect((await attacker.through(who)).json).to.deep.equal({ ok: true, needs: 'email' })
    const free = anEmail()
    const ofNobody = await attacker.ask('POST', '/api/auth/sign-in/email', { email: free })
    const asked = await attacker.ask('POST', '/api/auth/sign-in/email', { email: victim.email })
    expect(asked.text.replace(victim.email, free)).to.equal(ofNobody.text)
    const token = await mailedToken(victim.email)
    const elsewhere = await newBrowser().ask('POST', '/api/auth/sign-in/mail', { token })
    expect(shown(elsewhere)).to.deep.equal([400, 'invalid_token'])
    expect(await identitiesOf(victim.email)).to.deep.equal([])
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

  it('takes everything from somebody who registered an address without verifying it (pre-hijacking)', async () => {
    const attacker = await aPerson(web)
    const me = asker(attacker.token)
    const key = (await me('POST', '/api/keys', { name: 'x' })).json
    const own = newBrowser()
    const { url } = (await own.ask('POST', '/api/identities/local', {}, { key: attacker.token })).json
    await own.back(await signInThere(url as string, { subject: `hijacker ${attacker.email}` }))
    expect((await own.finish()).json).to.deep.equal({ ok: true, done: 'linked' })
    await addPasskey(me)
    const who = { subject: `owner ${attacker.email}`, email: attacker.email, verified: true }
    const { json } = await newBrowser().through(who)
    expect(json.user).to.include({ email: attacker.email, emailVerified: true })
    expect((await me('GET', '/api/auth/me')).status).to.equal(401)
    expect((await get(`${web.url}/v1/key`, key.key as string)).status).to.equal(401)
    expect((await web.post('/api/auth/login', { email: attacker.email, password: PASSWORD })).status).to.equal(401)
    expect(await identitiesOf(attacker.email)).to.deep.equal([`owner ${attacker.email}`])
    expect((await web.get('/api/auth/second-factor', json.token as string)).json).to.include({ passkeys: 0 })
  })

  it('connects an account after the second step alone', async () => {
    const person = await someone()
    const { app } = await addApp(asker(person.token))
    const browser = newBrowser()
    await browser.through({ subject: `guarded ${person.email}`, email: person.email, verified: true })
    const { email } = person
    const half = await browser.ask('POST', '/api/auth/login', { email, password: PASSWORD, pending: true })
    expect(await identitiesOf(email), 'before the second step').to.deep.equal([])
    const step = { ticket: half.json.ticket, code: app(1) }
    expect(kindOf(await browser.ask('POST', '/api/auth/second-factor', step))).to.equal('session')
    expect(await identitiesOf(email)).to.deep.equal([`guarded ${email}`])
  })
})
