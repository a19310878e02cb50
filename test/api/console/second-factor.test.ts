import { expect } from 'chai'
import type { Reply } from '../../../scripts/harness/http.ts'
import { send } from '../../../scripts/harness/http.ts'
import { setAccountRole, setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { resetSecondFactor } from '../../../src/shared/sign-in/second-factor.ts'
import { createTotpBox, resealTotpSecrets } from '../../../src/shared/sign-in/factors.ts'
import { deleteExpiredTickets } from '../../../src/shared/identity/tickets.ts'
import { ownerOf } from '../../../src/shared/identity/members.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { UserId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, aPerson, aUser, aVisitor, anAsker, useConsole } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { useSecondWeb } from '../../support/gateway.ts'
import { addApp, aged, changesMailedTo, cookieOf } from './support/app.ts'

const SETTINGS = { TRUST_PROXY: '1', LOGIN_RATE_LIMIT: '1000' }

const shown = ({ status, json }: Reply) => [status, json.error ?? null]
const NO_TICKET = [401, 'invalid_ticket']
const UNPROVED = [403, 'proof_required']
const WRONG = [401, 'invalid_credentials']

let networks = 0
const elsewhere = () => ({ 'x-forwarded-for': `10.77.${networks >> 8}.${++networks & 255}` })

describe('the second factor', () => {
  const web = useConsole(SETTINGS)
  const other = useSecondWeb(web)

  const asker = (token: string) => (method: string, path: string, body?: unknown) =>
    send(method, `${web.url}${path}`, { key: token, body })

  /** A person with an authenticator app, of which any step can be used again. */
  async function aGuarded() {
    const person = await aPerson(web)
    const me = asker(person.token)
    const { app, recoveryCodes } = await addApp(me)
    const userId = (await ownerOf(web.db, parseId('account', person.id)!))!
    const rewind = () => web.db('totp_secrets').where({ user_id: userId }).update({ last_step: 0 })
    await rewind()
    return { ...person, me, app, recoveryCodes, userId, rewind }
  }

  const login = (email: string, headers: Record<string, string> = {}) =>
    web.post('/api/auth/login', { email, password: PASSWORD }, undefined, headers)

  /** A login that waits for its second step. */
  async function aTicket(email: string, headers: Record<string, string> = {}) {
    const reply = await login(email, headers)
    const cookie = cookieOf(reply)
    const pass = (fields: object, at = web.url, sent: Record<string, string> = { cookie }) =>
      send('POST', `${at}/api/auth/second-factor`, {
        body: { ticket: reply.json.ticket, ...fields },
        headers: { ...headers, ...sent },
      })
    return { reply, cookie, pass }
  }

  const actionsOf = (userId: UserId) =>
    web.db('operator_actions').where({ operator_id: userId }).orderBy('id').pluck<string[]>('action')
  const mailsOf = changesMailedTo(web)

  it('is asked for after the password, in place of a session, and then answers as a login does', async () => {
    const { email, app } = await aGuarded()
    const { reply, pass } = await aTicket(email)
    expect(reply.json).to.deep.equal({ ok: true, secondFactor: ['totp', 'recovery'], ticket: reply.json.ticket })
    expect(reply.headers.get('set-cookie')).to.match(
      /^__Host-tollgate-sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    const { status, json } = await pass({ code: app() })
    expect([status, Object.keys(json as object)]).to.deep.equal([200, ['ok', 'token', 'user']])
    expect((await web.get('/api/auth/me', json.token as string)).json.user).to.deep.equal(json.user)
    expect(shown(await pass({ code: app(1) })), 'a second use').to.deep.equal(NO_TICKET)
  })

  it('accepts each code once, in any number of processes at once', async () => {
    const { email, app } = await aGuarded()
    // Of one step, though the next begins meanwhile.
    const code = app(1)
    const tickets = await Promise.all([1, 2, 3, 4].map(() => aTicket(email)))
    const replies = await Promise.all(
      tickets.map(({ pass }, index) => pass({ code }, index % 2 === 0 ? web.url : other.url)),
    )
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 401, 401, 401])
    const { pass } = await aTicket(email)
    expect(shown(await pass({ code: app() })), 'an earlier step').to.deep.equal(WRONG)
    const both = await Promise.all([pass({ code }), pass({ code }, other.url)])
    expect(both.map(({ status }) => status)).to.deep.equal([401, 401])
  })

  it('is bound to the browser, ends after five wrong codes or 5 minutes, and with another password', async () => {
    const { email, app, me, rewind } = await aGuarded()
    const first = await aTicket(email)
    const wrong = [undefined, '__Host-tollgate-sign-in=x', cookieOf(await login(email))]
    for (const cookie of wrong)
      expect(shown(await first.pass({ code: app() }, web.url, cookie ? { cookie } : {}))).to.deep.equal(NO_TICKET)
    for (let nth = 0; nth < 5; nth++) expect(shown(await first.pass({ code: 'x' }))).to.deep.equal(WRONG)
    expect(shown(await first.pass({ code: app() }))).to.deep.equal(NO_TICKET)

    const late = await aTicket(email)
    await web.db('sign_in_tickets').update({ expires_at: web.db.raw(`expires_at - interval '5 minutes'`) })
    expect(shown(await late.pass({ code: app() }))).to.deep.equal(NO_TICKET)
    expect(await deleteExpiredTickets(web.db)).to.be.at.least(1)

    const old = await aTicket(email)
    await me('POST', '/api/auth/password', { currentPassword: PASSWORD, password: `${PASSWORD}2` })
    expect(shown(await old.pass({ code: app() }))).to.deep.equal(NO_TICKET)
    await me('POST', '/api/auth/password', { currentPassword: `${PASSWORD}2`, password: PASSWORD })
    await rewind()
    const { pass } = await aTicket(email)
    expect((await pass({ code: app() })).status).to.equal(200)
  })

  it('takes each recovery code once, in any spelling, with a mail and an entry of the log', async () => {
    const { email, recoveryCodes, userId } = await aGuarded()
    const [code] = recoveryCodes
    expect(code).to.match(/^([a-z2-7]{4}-){3}[a-z2-7]{4}$/)
    const stored = await web.db('recovery_codes').where({ user_id: userId })
    expect(JSON.stringify(stored)).not.to.contain(code!.replaceAll('-', ''))
    const { pass } = await aTicket(email)
    const { json } = await pass({ recoveryCode: ` ${code!.toUpperCase().replaceAll('-', ' ')}` })
    expect((await web.get('/api/auth/second-factor', json.token as string)).json).to.deep.equal({
      ok: true,
      totp: true,
      passkeys: 0,
      recoveryCodes: 9,
      required: false,
      password: true,
    })
    expect(shown(await (await aTicket(email)).pass({ recoveryCode: code }))).to.deep.equal(WRONG)
    expect(await mailsOf(userId)).to.deep.equal(['totp_added', 'recovery_code_used'])
    expect(await actionsOf(userId)).to.deep.equal(['totp_added', 'recovery_code_used'])
  })

  it('counts wrong codes as wrong passwords: guesses from many networks are paused, and the owner is not', async () => {
    const { email } = await aGuarded()
    for (const network of [elsewhere(), elsewhere()]) {
      const { pass } = await aTicket(email, network)
      for (let nth = 0; nth < 5; nth++) expect((await pass({ code: '000000' })).status).to.equal(401)
    }
    expect(shown(await login(email, elsewhere()))).to.deep.equal([429, 'rate_limited'])
    expect((await login(email)).status).to.equal(200)
  })

  it('ends the other sessions when it is added, and is shown and stored by nobody', async () => {
    const person = await aPerson(web)
    const { token } = (await login(person.email)).json
    const { app, recoveryCodes } = await addApp(asker(person.token))
    expect((await web.get('/api/auth/me', token as string)).status).to.equal(401)
    expect((await web.get('/api/auth/me', person.token)).status).to.equal(200)
    const begun = await asker(person.token)('POST', '/api/auth/totp', {})
    expect(shown(begun)).to.deep.equal([409, 'conflict'])
    expect(app()).to.match(/^\d{6}$/)
    expect(recoveryCodes).to.have.length(10)
  })

  it('is removed by a user who has just proved themselves, or by an operator, who ends all sessions', async () => {
    const { email, id, me, app, token, userId, rewind } = await aGuarded()
    await web.db('sessions').where({ user_id: userId }).update(aged(web))
    expect(shown(await me('DELETE', '/api/auth/totp'))).to.deep.equal(UNPROVED)
    expect(shown(await me('POST', '/api/auth/proof', { code: '000000' }))).to.deep.equal(WRONG)
    expect(shown(await me('POST', '/api/auth/proof', { password: 'x' }))).to.deep.equal([400, 'wrong_password'])
    expect(shown(await me('POST', '/api/auth/proof', {}))).to.deep.equal([400, 'invalid_request'])
    expect((await me('POST', '/api/auth/proof', { code: app() })).status).to.equal(200)
    expect(shown(await me('POST', '/api/auth/totp', {})), 'a code is no password').to.deep.equal(UNPROVED)
    expect((await me('DELETE', '/api/auth/totp')).json).to.deep.equal({ ok: true })
    expect(shown(await me('DELETE', '/api/auth/totp'))).to.deep.equal([404, 'not_found'])
    expect((await login(email)).json).to.have.property('token')

    expect((await me('POST', '/api/auth/proof', { password: PASSWORD })).status).to.equal(200)
    await addApp(me)
    await rewind()
    const { pass } = await aTicket(email)
    await resetSecondFactor(web.db, null, { id: userId, account_id: parseId('account', id)! })
    expect(shown(await pass({ code: app() }))).to.deep.equal(NO_TICKET)
    expect((await web.get('/api/auth/me', token)).status).to.equal(401)
    expect((await login(email)).json).to.have.property('token')
    const changes = ['totp_added', 'totp_removed', 'totp_added']
    expect(await mailsOf(userId)).to.deep.equal([...changes, 'second_factor_reset'])
    expect(await actionsOf(userId)).to.deep.equal(changes)
  })

  it('opens no session for a suspended account, and counts for nothing before it is confirmed', async () => {
    const { email, app, id } = await aGuarded()
    const { pass } = await aTicket(email)
    await setAccountStatus(web.db, null, parseId('account', id)!, 'suspended')
    expect(shown(await pass({ code: app() }))).to.deep.equal([403, 'account_suspended'])
    const begun = await aPerson(web)
    await asker(begun.token)('POST', '/api/auth/totp', {})
    expect((await login(begun.email)).json).to.have.property('token')
    const confirm = (code: string) => asker(begun.token)('POST', '/api/auth/totp/confirm', { code })
    expect(shown(await confirm('000000'))).to.deep.equal(WRONG)
  })

  it('rests encrypted, and moves to another APP_SECRET', async () => {
    const { userId } = await aGuarded()
    const now = `${web.config.APP_SECRET} 2`
    const box = createTotpBox({ APP_SECRET: now, APP_SECRET_PREVIOUS: web.config.APP_SECRET })
    const sealed = async () =>
      (await web.db('totp_secrets').where({ user_id: userId }).first('secret')).secret as Buffer
    const secret = box.open(userId, await sealed())!
    expect((await sealed()).includes(secret)).to.equal(false)
    expect(await resealTotpSecrets(web.db, box)).to.be.at.least(1)
    expect(createTotpBox({ APP_SECRET: now }).open(userId, await sealed())).to.deep.equal(secret)
    await resealTotpSecrets(web.db, createTotpBox({ APP_SECRET: web.config.APP_SECRET, APP_SECRET_PREVIOUS: now }))
  })

  it('is advised to operators where it is not required, who prove themselves before they give anything', async () => {
    const operator = await aUser(web)
    const { id } = await aVisitor(web)
    await setAccountRole(web.db, null, parseId('account', operator.id)!, 'admin')
    const ask = asker(operator.token)
    expect((await ask('GET', '/api/operator/overview')).json.advice).to.have.length(1)
    const give = () => ask('POST', `/api/operator/accounts/${id}/grants`, { amount: 1, origin: 'bonus' })
    expect((await give()).status).to.equal(200)
    await web.db('sessions').update(aged(web))
    const key = `key_${'0'.repeat(32)}`
    for (const [method, path, body] of [
      ['POST', `/api/operator/accounts/${id}/grants`, { amount: 1, origin: 'bonus' }],
      ['POST', `/api/operator/accounts/${id}/deductions`, { amount: 1, note: 'x' }],
      ['POST', `/api/operator/accounts/${id}/forgive-debt`, {}],
      ['PUT', `/api/operator/accounts/${id}/group`, { group: null }],
      ['POST', '/api/operator/codes', { credits: 1, uses: 1 }],
      ['POST', '/api/operator/catalogue', { catalogue: {}, expect: 1 }],
      ['POST', '/api/operator/catalogue/versions/1/rollback', { expect: 1 }],
      ['PATCH', `/api/operator/keys/${key}`, { name: 'x' }],
      ['POST', `/api/operator/keys/${key}/rotate`, {}],
      ['DELETE', `/api/operator/keys/${key}`, undefined],
    ] as const)
      expect(shown(await ask(method, path, body)), path).to.deep.equal(UNPROVED)
    expect((await ask('GET', `/api/operator/accounts/${id}`)).status).to.equal(200)
    expect((await ask('POST', '/api/auth/proof', { password: PASSWORD })).json).to.deep.equal({ ok: true })
    expect((await give()).status).to.equal(200)
    await web.db('sessions').update({ proved_at: aged(web).created_at })
    expect(shown(await give())).to.deep.equal(UNPROVED)
  })
})

describe('a second factor that is required', () => {
  const shownTo = async (at: TestConsole, token: string, path: string) => shown(await at.get(path, token))
  const refused = [403, 'second_factor_required']
  const allowed = [200, null]

  for (const [policy, ofUsers] of [
    ['operators', allowed],
    ['all', refused],
  ] as const) {
    const web = useConsole({ ...SETTINGS, SECOND_FACTOR: policy })
    it(`is set up first: those who must have one (${policy}) can do nothing else`, async () => {
      const user = await aVisitor(web)
      const operator = await anAsker(web, 'admin')
      for (const path of ['/api/keys', '/api/account', '/api/ledger', '/api/auth/sessions', '/api/operator/overview'])
        expect(await shownTo(web, operator.token, path), path).to.deep.equal(refused)
      for (const path of ['/api/keys', '/api/account', '/api/ledger', '/api/auth/sessions'])
        expect(await shownTo(web, user.token, path), path).to.deep.equal(ofUsers)
      for (const path of ['/api/auth/me', '/api/auth/second-factor'])
        expect(await shownTo(web, operator.token, path), path).to.deep.equal(allowed)
      await addApp(operator.ask)
      expect(await shownTo(web, operator.token, '/api/operator/overview')).to.deep.equal(allowed)
    })
  }
})
