import { expect } from 'chai'
import type { Reply } from '../../../scripts/harness/http.ts'
import { send } from '../../../scripts/harness/http.ts'
import { ownerOf } from '../../../src/shared/identity/members.ts'
import { createTokenMint, issueToken } from '../../../src/shared/identity/one-time-tokens.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import type { MailId } from '../../../src/shared/platform/ids.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import { deleteExpiredChallenges } from '../../../src/shared/sign-in/passkeys.ts'
import { PASSWORD, aUser, aVisitor, useConsole } from '../../support/console.ts'
import { useSecondWeb } from '../../support/gateway.ts'
import { addApp, aged, changesMailedTo, cookieOf } from './support/app.ts'
import { anAuthenticator } from './support/authenticator.ts'
import type { Manner } from './support/authenticator.ts'

const shown = ({ status, json }: Reply) => [status, json.error ?? null]
const REFUSED = [401, 'invalid_credentials']

describe('passkeys', () => {
  const web = useConsole({ TRUST_PROXY: '1', LOGIN_RATE_LIMIT: '1000' })
  const other = useSecondWeb(web)

  const asker = (token: string) => (method: string, path: string, body?: unknown) =>
    send(method, `${web.url}${path}`, { key: token, body })
  type Options = { challenge: string; allowCredentials?: { id: string }[]; userVerification: string }
  const optionsToUse = async (body: object = {}, headers: Record<string, string> = {}) =>
    (await web.post('/api/auth/passkey/options', body, undefined, headers)).json.options as Options

  /** Adds a passkey to somebody who is logged in. */
  async function addTo(me: ReturnType<typeof asker>, device = anAuthenticator(), manner: Manner = {}) {
    const { options } = (await me('POST', '/api/auth/passkeys/options', {})).json
    const response = device.make(options as Options, manner)
    const added = await me('POST', '/api/auth/passkeys', { name: 'Phone', response })
    return { device, added, response }
  }

  /** A person with a passkey. */
  async function aKeyed() {
    const person = await aUser(web)
    const me = asker(person.token)
    const { device, added } = await addTo(me)
    expect(added.status, JSON.stringify(added.json)).to.equal(200)
    const userId = (await ownerOf(web.db, parseId('account', person.id)!))!
    return {
      ...person,
      me,
      device,
      userId,
      passkey: added.json.passkey as { id: string },
      codes: added.json.recoveryCodes,
    }
  }

  /** Signs in with a passkey alone. */
  const signIn = async ({ use }: ReturnType<typeof anAuthenticator>, manner: Manner = {}) =>
    web.post('/api/auth/passkey', { response: use(await optionsToUse(), manner) })

  const login = (email: string) => web.post('/api/auth/login', { email, password: PASSWORD })
  const mailsOf = changesMailedTo(web)

  it('sign in without an address or a password, and as the second step of a login', async () => {
    const { email, device, codes, userId } = await aKeyed()
    expect(codes).to.have.length(10)
    const { status, json } = await signIn(device)
    expect([status, Object.keys(json as object)]).to.deep.equal([200, ['ok', 'token', 'user']])
    expect((await web.get('/api/auth/me', json.token as string)).json.user).to.deep.equal(json.user)

    const half = await login(email)
    expect(half.json.secondFactor).to.deep.equal(['passkey', 'recovery'])
    const { ticket } = half.json
    const cookie = cookieOf(half)
    const elsewhere = await web.post('/api/auth/passkey/options', { ticket })
    expect(shown(elsewhere), 'another browser').to.deep.equal([401, 'invalid_ticket'])
    const options = await optionsToUse({ ticket }, { cookie })
    expect([options.allowCredentials!.length, options.userVerification]).to.deep.equal([1, 'preferred'])
    const passkey = device.use(options, { isVerified: false })
    const pass = (body: object) => web.post('/api/auth/second-factor', { ticket, ...body }, undefined, { cookie })
    const another = await aKeyed()
    const foreign = await pass({ passkey: another.device.use(await optionsToUse()) })
    expect(shown(foreign), 'of another user').to.deep.equal(REFUSED)
    expect((await pass({ passkey })).json).to.have.property('token')
    expect(await mailsOf(userId)).to.deep.equal(['passkey_added'])
  })

  it('are refused in the same words: copied, unverified, of another site, spent, late or unknown', async () => {
    const { device, me, passkey, userId } = await aKeyed()
    const options = await optionsToUse()
    const response = device.use(options)
    const use = (at = web.url) => send('POST', `${at}/api/auth/passkey`, { body: { response } })
    const both = await Promise.all([use(), use(other.url)])
    expect(both.map(({ status }) => status)).to.have.members([200, 401])
    const late = await optionsToUse()
    await web.db('passkey_challenges').update({ expires_at: web.db.fn.now() })
    const refused: [string, Promise<Reply>][] = [
      ['spent', use()],
      ['late', web.post('/api/auth/passkey', { response: device.use(late) })],
      ['of no challenge', web.post('/api/auth/passkey', { response: device.use({ challenge: 'AAAA' }) })],
      ['unverified', signIn(device, { isVerified: false })],
      ['of another origin', signIn(device, { origin: 'https://gate.example.evil.example' })],
      ['of another host', signIn(device, { host: 'evil.example' })],
      ['of a copy', signIn(device, { counter: 1 })],
      ['unknown', signIn(anAuthenticator())],
      [
        'no JSON',
        web.post('/api/auth/passkey', {
          response: { ...response, response: { ...response.response, clientDataJSON: 'AAAA' } },
        }),
      ],
    ]
    const message = (await use()).json.message as string
    for (const [why, reply] of refused) {
      expect(shown(await reply), why).to.deep.equal(REFUSED)
      expect((await reply).json.message, why).to.equal(message)
    }
    expect(await mailsOf(userId)).to.deep.equal(['passkey_added', 'passkey_refused'])
    expect(await deleteExpiredChallenges(web.db)).to.be.at.least(1)
    expect((await me('DELETE', `/api/auth/passkeys/${passkey.id}`)).json).to.deep.equal({ ok: true })
    expect(shown(await signIn(device)), 'removed').to.deep.equal(REFUSED)
  })

  it('are added by their user alone, once each, up to twenty, by a challenge that is theirs', async () => {
    const { me, email, device, userId } = await aKeyed()
    expect(shown((await addTo(me, device)).added), 'twice').to.deep.equal([409, 'conflict'])
    const { options } = (await me('POST', '/api/auth/passkeys/options', {})).json
    expect(options).to.deep.include({ rp: { name: 'Tollgate', id: 'gate.example' }, attestation: 'none' })
    expect(options.user.name).to.equal(email)
    const stranger = asker((await aVisitor(web)).token)
    const response = anAuthenticator().make(options as Options)
    const add = (who: typeof me, sent: object) => who('POST', '/api/auth/passkeys', { name: 'x', response: sent })
    const invalid = [400, 'invalid_request']
    expect(shown(await add(stranger, response)), 'of another user').to.deep.equal(invalid)
    expect(shown(await add(me, anAuthenticator().make(await optionsToUse()))), 'of a sign-in').to.deep.equal(invalid)
    expect(shown(await add(me, { ...response, rawId: '+' })), 'no base64url').to.deep.equal(invalid)
    const attested: Manner = {
      attestation: [
        ['alg', -7],
        ['sig', Buffer.from('x')],
        ['x5c', Buffer.from('x')],
      ],
    }
    expect(shown((await addTo(me, anAuthenticator(), attested)).added), 'with certificates').to.deep.equal(invalid)
    const made = (await addTo(me, anAuthenticator())).added.json
    expect([made.recoveryCodes, made.passkey.lastUsedAt]).to.deep.equal([null, null])
    await web.db('passkeys').insert(
      Array.from({ length: 18 }, (_, nth) => ({
        id: crypto.randomUUID(),
        user_id: userId,
        credential_id: Buffer.from([nth]),
        public_key: Buffer.from([0]),
        counter: 0,
        transports: [],
        name: 'x',
      })),
    )
    expect(shown((await addTo(me)).added)).to.deep.equal([409, 'too_many_passkeys'])
  })

  it('are listed, renamed and removed by their user alone, who has just proved themselves', async () => {
    const { me, passkey, token, email, device, userId } = await aKeyed()
    const { added } = await addTo(me)
    const path = `/api/auth/passkeys/${passkey.id}`
    const stranger = asker((await aVisitor(web)).token)
    expect(shown(await stranger('PATCH', path, { name: 'mine' }))).to.deep.equal([404, 'not_found'])
    expect(shown(await stranger('DELETE', path))).to.deep.equal([404, 'not_found'])
    expect((await me('PATCH', path, { name: 'Laptop' })).json.passkey.name).to.equal('Laptop')
    const names = (await me('GET', '/api/auth/passkeys')).json.data.map((one: { name: string }) => one.name)
    expect(names).to.deep.equal(['Phone', 'Laptop'])
    await web.db('sessions').where({ user_id: userId }).update(aged(web))
    for (const [method, at] of [
      ['POST', '/api/auth/passkeys/options'],
      ['DELETE', path],
    ] as const)
      expect(shown(await me(method, at, {})), at).to.deep.equal([403, 'proof_required'])
    const prove = async (manner: Manner = {}) =>
      me('POST', '/api/auth/proof', { passkey: device.use(await optionsToUse(), manner) })
    expect(shown(await prove({ isVerified: false }))).to.deep.equal(REFUSED)
    const another = await aKeyed()
    const foreign = another.device.use(await optionsToUse())
    expect(shown(await me('POST', '/api/auth/proof', { passkey: foreign }))).to.deep.equal(REFUSED)
    expect((await prove()).status).to.equal(200)
    expect((await me('POST', '/api/auth/passkeys/options', {})).status).to.equal(200)
    expect((await me('DELETE', path)).status).to.equal(200)
    expect((await login(email)).json.secondFactor, 'one is left').to.deep.equal(['passkey', 'recovery'])
    expect((await me('DELETE', `/api/auth/passkeys/${added.json.passkey.id}`)).status).to.equal(200)
    expect((await login(email)).json, 'none is left').to.have.property('token')
    expect((await web.get('/api/auth/second-factor', token)).json).to.deep.include({ passkeys: 0, recoveryCodes: 0 })
  })

  it('stay when the app is removed, and end other sessions only as the first factor', async () => {
    const person = await aUser(web)
    const second = (await login(person.email)).json.token as string
    const me = asker(person.token)
    await addTo(me)
    expect((await web.get('/api/auth/me', second)).status).to.equal(401)
    await addApp(me)
    expect((await login(person.email)).json.secondFactor).to.deep.equal(['totp', 'passkey', 'recovery'])
    expect((await me('DELETE', '/api/auth/totp')).status).to.equal(200)
    expect((await login(person.email)).json.secondFactor).to.deep.equal(['passkey', 'recovery'])
  })

  it('open no session for a suspended account', async () => {
    const { device, id } = await aKeyed()
    await setAccountStatus(web.db, null, parseId('account', id)!, 'suspended')
    expect(shown(await signIn(device))).to.deep.equal([403, 'account_suspended'])
  })

  it('of somebody who registered an address of another end when its owner resets the password', async () => {
    const { email, device, userId } = await aKeyed()
    const reset = async () => {
      await web.post('/api/email/forgot', { email })
      const mail = await web
        .db('mails')
        .where({ recipient: email, kind: 'reset' })
        .orderBy('id', 'desc')
        .first<{ id: MailId }>('id')
      const token = createTokenMint(web.config.APP_SECRET)('reset', mail.id)
      await web.db.transaction((trx) => issueToken(trx, { mailId: mail.id, userId, purpose: 'reset', token }))
      return web.post('/api/email/reset', { token, password: PASSWORD })
    }
    await web.db('users').where({ id: userId }).update({ email_verified_at: web.db.fn.now() })
    expect((await reset()).status).to.equal(200)
    expect((await signIn(device)).status, 'a verified address').to.equal(200)
    await web.db('users').where({ id: userId }).update({ email_verified_at: null })
    expect((await reset()).status).to.equal(200)
    expect(shown(await signIn(device))).to.deep.equal(REFUSED)
    expect((await login(email)).json).to.have.property('token')
  })
})
