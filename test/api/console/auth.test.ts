import { expect } from 'chai'
import { setAccountStatus } from '../../../src/shared/operators/changes.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, aPerson, anEmail, consoleConfig, logIn, startConsole } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'
import { send } from '../../../scripts/harness/http.ts'

const idOf = (publicText: string): AccountId => parseId('account', publicText)!

describe('/api/auth', () => {
  let web: TestConsole
  before(async () => {
    web = await startConsole(await consoleConfig({ SIGNUP_CREDITS: '250', SIGNUP_CREDITS_AT: 'registration' }))
  })
  after(() => web.stop())

  const login = (email: unknown, password: unknown) => web.post('/api/auth/login', { email, password })

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
      const [wrong, unknown, malformed] = [
        await login(email, 'wrong horse 1'),
        await login(anEmail(), PASSWORD),
        await login('no address', PASSWORD),
      ]
      expect(wrong.status).to.equal(401)
      expect(wrong.json).to.include({ ok: false, error: 'invalid_credentials' })
      expect(unknown.text).to.equal(wrong.text)
      expect(malformed.text).to.equal(wrong.text)
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

    it('reads bodies strictly', async () => {
      const url = `${web.url}/api/auth/login`
      expect((await send('POST', url, { body: '{"email":' })).json.error).to.equal('invalid_json')
      expect((await send('POST', url, { body: '[]' })).json.error).to.equal('invalid_json')
      expect(
        (await send('POST', url, { body: 'email=a', headers: { 'content-type': 'application/x-www-form-urlencoded' } }))
          .status,
      ).to.equal(415)
      const large = await send('POST', url, { body: { email: 'a'.repeat(1_048_576), password: 'b' } })
      expect([large.status, large.json.error]).to.deep.equal([413, 'payload_too_large'])
      const method = await send('GET', url)
      expect([method.status, method.json.error, method.headers.get('allow')]).to.deep.equal([
        405,
        'method_not_allowed',
        'POST',
      ])
    })
  })

  describe('me', () => {
    it('answers the user of the token, with the current balance', async () => {
      const { token, email, id } = await aPerson(web)
      const { status, json } = await web.get('/api/auth/me', token)
      expect(status).to.equal(200)
      expect(json).to.have.all.keys('ok', 'user')
      expect(json.user).to.include({ id, email, credits: 250 })
    })

    it('changes the fields of the profile that are sent, and no others', async () => {
      const { token, email } = await aPerson(web)
      const patch = (body: unknown) => send('PATCH', `${web.url}/api/auth/me`, { key: token, body })
      const avatarUrl = 'https://example.com/a.png'
      expect((await patch({ displayName: 'Ada', avatarUrl })).json.user).to.include({
        displayName: 'Ada',
        avatarUrl,
        email,
      })
      expect((await patch({ displayName: 'Grace' })).json.user).to.include({ displayName: 'Grace', avatarUrl })
      expect((await patch({ avatarUrl: '' })).json.user).to.include({ displayName: 'Grace', avatarUrl: '' })
      expect((await patch({ email: 'other@example.com', credits: 9, emailVerified: true })).json.user).to.include({
        email,
        credits: 250,
        emailVerified: false,
      })
    })

    it('refuses a name over 60 characters, and an avatar that is not an https address of at most 2048', async () => {
      const { token } = await aPerson(web)
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
      const { email, token } = await aPerson(web)
      const other = await logIn(web, email)
      expect((await change(token, PASSWORD, 'another horse 2')).json).to.deep.equal({ ok: true })
      expect((await web.get('/api/auth/me', token)).status).to.equal(200)
      expect((await web.get('/api/auth/me', other)).status).to.equal(401)
      expect((await login(email, PASSWORD)).status).to.equal(401)
      expect((await login(email, 'another horse 2')).status).to.equal(200)
    })

    it('refuses a wrong current password and a weak new one, and changes nothing', async () => {
      const { email, token } = await aPerson(web)
      for (const [current, next, error] of [
        ['wrong horse 1', 'another horse 2', 'wrong_password'],
        [PASSWORD, 'short1', 'password_too_short'],
        [PASSWORD, undefined, 'password_too_short'],
        [PASSWORD, `${'a'.repeat(72)}1`, 'password_too_long'],
        [PASSWORD, 'lettersonly', 'password_needs_letter_and_digit'],
        [undefined, 'another horse 2', 'invalid_request'],
      ] as const) {
        const { status, json } = await change(token, current, next)
        expect([status, json.error], `${String(current)} → ${String(next)}`).to.deep.equal([400, error])
      }
      expect((await login(email, PASSWORD)).status).to.equal(200)
    })

    it('lets exactly one of many simultaneous changes win', async () => {
      const { email, token } = await aPerson(web)
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, index) => change(token, PASSWORD, `another horse ${index}`)),
      )
      const won = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []))
      expect(won).to.have.length(1)
      expect((await login(email, `another horse ${won[0]}`)).status).to.equal(200)
    })
  })
})
