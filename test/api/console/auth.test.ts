import { expect } from 'chai'
import { balanceOf } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, aPerson, aUser, aVisitor, anEmail, logIn, useConsole } from '../../support/console.ts'
import { send } from '../../../scripts/harness/http.ts'

const idOf = (publicText: string): AccountId => parseId('account', publicText)!

describe('/api/auth', () => {
  const web = useConsole({ SIGNUP_CREDITS: '250', SIGNUP_CREDITS_AT: 'registration' })

  const login = (email: unknown, password: unknown) => web.post('/api/auth/login', { email, password })

  const register = (fields: Record<string, unknown>) =>
    web.post('/api/auth/register', { email: anEmail(), password: PASSWORD, ...fields })

  describe('register', () => {
    it('answers a session token and the unverified user, with sign-up credits if granted at once', async () => {
      const email = anEmail()
      const { status, json, headers } = await register({ email: email.toUpperCase(), displayName: 'Ada' })
      expect(status).to.equal(200)
      expect(json).to.have.all.keys('ok', 'token', 'user')
      expect(json.token).to.match(/^[\w-]{43}$/)
      const fields = 'id email displayName avatarUrl language credits emailVerified createdAt'
      expect(json.user).to.have.all.keys(fields.split(' '))
      expect(json.user).to.include({ email, displayName: 'Ada', avatarUrl: '', credits: 250, emailVerified: false })
      expect(json.user.createdAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(headers.get('cache-control')).to.equal('no-store')
    })

    // Every rule is tested by test/shared/identity/passwords.test.ts and test/shared/terms/emails.test.ts.
    it('refuses a bad password, name or address by its code, the address first, then the password', async () => {
      for (const [fields, error] of [
        [{ email: 'a@x.com, b@y.com' }, 'invalid_email'],
        [{ password: 'abcdef1' }, 'password_too_short'],
        [{ password: ['abcdefg1'] }, 'password_too_short'],
        [{ password: 'abcdefg1\0' }, 'invalid_request'],
        [{ displayName: 'a'.repeat(61) }, 'invalid_request'],
        [{ displayName: '\ud800' }, 'invalid_request'],
        [{ email: 'x', password: 'x', displayName: 5 }, 'invalid_email'],
        [{ password: 'x', displayName: 5 }, 'password_too_short'],
      ] as const) {
        const { status, json } = await register(fields)
        expect([status, json.error], JSON.stringify(fields)).to.deep.equal([400, error])
        expect(json).to.have.all.keys('ok', 'error', 'message')
      }
      for (const displayName of ['👩‍🚀'.repeat(20), '', null])
        expect((await register({ displayName })).json.user.displayName).to.equal(displayName ?? '')
    })

    it('does not trim passwords', async () => {
      const email = anEmail()
      await register({ email, password: ' pass w0rd ' })
      expect((await login(email, ' pass w0rd ')).status).to.equal(200)
      expect((await login(email, 'pass w0rd')).status).to.equal(401)
    })

    it('makes exactly one account of 20 simultaneous registrations of one address in different cases', async () => {
      const email = anEmail()
      const spelled = (index: number): string =>
        Array.from(email, (letter, at) => ((index >> (at % 6)) & 1 ? letter.toUpperCase() : letter)).join('')
      const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => register({ email: spelled(index) })))
      expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
      expect(replies.filter(({ status, json }) => status === 409 && json.error === 'email_taken')).to.have.length(19)
      const users = await web.db('users').join('members', 'members.user_id', 'users.id').where({ email })
      expect(users).to.have.length(1)
      expect(await balanceOf(web.db, users[0].account_id)).to.equal(250)
      expect(await web.db('mails').where({ recipient: email })).to.have.length(1)
      await expectBooksToBalance(web.db)
    })

    it('ignores fields that are not its own: identity and credits never come from the body', async () => {
      const { json } = await register({ id: 'acc_1', credits: 1_000_000, emailVerified: true, status: 'suspended' })
      expect(json.user).to.include({ credits: 250, emailVerified: false })
    })
  })

  describe('login', () => {
    it('answers a new session token and the user, whatever the case of the address', async () => {
      const { email, token } = await aPerson(web)
      const { status, json } = await login(email.toUpperCase(), PASSWORD)
      expect(status).to.equal(200)
      expect(json).to.have.all.keys('ok', 'token', 'user')
      expect(json.user.email).to.equal(email)
      expect(json.token).not.to.equal(token)
    })

    it('answers an unknown address and a wrong password with the same bytes', async () => {
      const { email } = await aPerson(web)
      const [wrong, unknown] = [await login(email, 'wrong horse 1'), await login(anEmail(), PASSWORD)]
      expect(wrong.status).to.equal(401)
      expect(wrong.json).to.include({ ok: false, error: 'invalid_credentials' })
      expect(unknown.text).to.equal(wrong.text)
      expect((await login('no address', PASSWORD)).text).to.equal(wrong.text)
      const headers = (reply: typeof wrong) => [...reply.headers.keys()].toSorted()
      expect(headers(unknown)).to.deep.equal(headers(wrong))
    })

    it('accepts any string as an address or a password, and nothing but strings', async () => {
      const { email } = await aPerson(web)
      for (const [address, password, status, error] of [
        ['', '', 401, 'invalid_credentials'],
        ['a\0@b.co', PASSWORD, 401, 'invalid_credentials'],
        ['\ud800@b.co', PASSWORD, 401, 'invalid_credentials'],
        [email, 'p'.repeat(10_000), 401, 'invalid_credentials'],
        [email, '\0', 401, 'invalid_credentials'],
        [undefined, PASSWORD, 400, 'invalid_request'],
        [email, undefined, 400, 'invalid_request'],
        [email, 5, 400, 'invalid_request'],
        [[email], PASSWORD, 400, 'invalid_request'],
      ] as const) {
        const reply = await login(address, password)
        expect([reply.status, reply.json.error], JSON.stringify([address, password])).to.deep.equal([status, error])
      }
    })

    it('answers 403 to a suspended account, whatever the password, and opens no session', async () => {
      const { email, id } = await aPerson(web)
      await setAccountStatus(web.db, null, idOf(id), 'suspended')
      for (const password of [PASSWORD, 'wrong horse 1']) {
        const { status, json } = await login(email, password)
        expect([status, json.error]).to.deep.equal([403, 'account_suspended'])
      }
      expect(await web.db('sessions').where({ account_id: idOf(id) })).to.deep.equal([])
      await setAccountStatus(web.db, null, idOf(id), 'active')
      expect((await login(email, PASSWORD)).status).to.equal(200)
    })
  })

  describe('me', () => {
    it('changes the fields of the profile that are sent, and no others', async () => {
      const { token, email } = await aVisitor(web)
      const patch = (body: unknown) => send('PATCH', `${web.url}/api/auth/me`, { key: token, body })
      const avatarUrl = 'https://example.com/a.png'
      const { user } = (await patch({ displayName: 'Ada', avatarUrl })).json
      expect(user).to.include({ displayName: 'Ada', avatarUrl, email })
      expect((await patch({ displayName: 'Grace' })).json.user).to.include({ displayName: 'Grace', avatarUrl })
      expect((await patch({ avatarUrl: '' })).json.user).to.include({ displayName: 'Grace', avatarUrl: '' })
      const due = { email, credits: 0, emailVerified: false }
      expect((await patch({ email: 'other@example.com', credits: 9, emailVerified: true })).json.user).to.include(due)
    })

    it('stores the language of mails, at first of Accept-Language; a requested mail keeps its own', async () => {
      const email = anEmail()
      const headers = { 'accept-language': 'fr;q=0.3, zh-TW' }
      const { json } = await web.post('/api/auth/register', { email, password: PASSWORD }, undefined, headers)
      expect(json.user.language).to.equal('zh-CN')
      const patch = (language: unknown) =>
        send('PATCH', `${web.url}/api/auth/me`, { key: json.token, body: { language } })
      expect((await patch('en')).json.user).to.include({ language: 'en' })
      expect((await patch('fr')).json).to.include({ error: 'invalid_request' })
      await web.post('/api/email/forgot', { email })
      const mails = await web.db('mails').where({ recipient: email }).orderBy('id').select('kind', 'language')
      expect(mails).to.deep.equal([
        { kind: 'verification', language: 'zh-CN' },
        { kind: 'reset', language: 'en' },
      ])
    })

    it('refuses a name over 60 characters, and an avatar that is not an https address of at most 2048', async () => {
      const { token } = await aVisitor(web)
      const longest = `https://example.com/${'a'.repeat(2048 - 20)}`
      for (const [body, status] of [
        [{ displayName: 'a'.repeat(61) }, 400],
        [{ displayName: 5 }, 400],
        [{ avatarUrl: 'http://example.com/a.png' }, 400],
        [{ avatarUrl: 'javascript:alert(1)' }, 400],
        [{ avatarUrl: 'https://' }, 400],
        [{ avatarUrl: 'https://exa mple.com' }, 400],
        [{ avatarUrl: 5 }, 400],
        [{ avatarUrl: 'https://example.com/\0' }, 400],
        [{ avatarUrl: longest }, 200],
        [{ avatarUrl: `${longest}a` }, 400],
      ] as const) {
        const reply = await send('PATCH', `${web.url}/api/auth/me`, { key: token, body })
        expect(reply.status, JSON.stringify(body).slice(0, 80)).to.equal(status)
        if (status === 400) expect(reply.json.error).to.equal('invalid_request')
      }
    })
  })

  describe('password', () => {
    const change = (token: string, currentPassword: unknown, password: unknown) =>
      web.post('/api/auth/password', { currentPassword, password }, token)

    it('accepts the new password from then on, and ends all other sessions', async () => {
      const { email, token } = await aUser(web)
      const other = await logIn(web, email)
      expect((await change(token, PASSWORD, 'another horse 2')).json).to.deep.equal({ ok: true })
      expect((await web.get('/api/auth/me', token)).status).to.equal(200)
      expect((await web.get('/api/auth/me', other)).status).to.equal(401)
      expect((await login(email, PASSWORD)).status).to.equal(401)
      expect((await login(email, 'another horse 2')).status).to.equal(200)
    })

    it('refuses a wrong current password and a weak new one, and changes nothing', async () => {
      const { email, token } = await aUser(web)
      for (const [current, next, error] of [
        ['wrong horse 1', 'another horse 2', 'wrong_password'],
        [PASSWORD, 'short1', 'password_too_short'],
        [undefined, 'another horse 2', 'invalid_request'],
      ] as const) {
        const { status, json } = await change(token, current, next)
        expect([status, json.error], `${String(current)} → ${String(next)}`).to.deep.equal([400, error])
      }
      expect((await login(email, PASSWORD)).status).to.equal(200)
    })

    it('lets exactly one of many simultaneous changes win', async () => {
      const { email, token } = await aUser(web)
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, index) => change(token, PASSWORD, `another horse ${index}`)),
      )
      const won = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []))
      expect(won).to.have.length(1)
      expect((await login(email, `another horse ${won[0]}`)).status).to.equal(200)
    })
  })
})
