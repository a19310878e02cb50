import { expect } from 'chai'
import { ownerOf } from '../../../src/shared/identity/members.ts'
import { balanceOf } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { parseId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { PASSWORD, aPerson, anEmail, consoleConfig, startConsole } from '../../support/console.ts'
import type { TestConsole } from '../../support/console.ts'

const idOf = (publicText: string): AccountId => parseId('account', publicText)!

describe('/api/auth/register', () => {
  let web: TestConsole
  before(async () => {
    web = await startConsole(await consoleConfig({ SIGNUP_CREDITS: '250', SIGNUP_CREDITS_AT: 'registration' }))
  })
  after(() => web.stop())

  const register = (fields: Record<string, unknown>) =>
    web.post('/api/auth/register', { email: anEmail(), password: PASSWORD, ...fields })
  const login = (email: unknown, password: unknown) => web.post('/api/auth/login', { email, password })

  it('answers a session token and the unverified user, with sign-up credits if they are granted at once', async () => {
    const email = anEmail()
    const { status, json, headers } = await register({ email: email.toUpperCase(), displayName: 'Ada' })
    expect(status).to.equal(200)
    expect(json).to.have.all.keys('ok', 'token', 'user')
    expect(json.token).to.match(/^[\w-]{43}$/)
    expect(json.user).to.have.all.keys(
      'id',
      'email',
      'displayName',
      'avatarUrl',
      'credits',
      'emailVerified',
      'createdAt',
    )
    expect(json.user).to.include({ email, displayName: 'Ada', avatarUrl: '', credits: 250, emailVerified: false })
    expect(json.user.createdAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(headers.get('cache-control')).to.equal('no-store')
  })

  it('grants the sign-up credits in the ledger, once', async () => {
    const { json } = await register({})
    const entries = await web.db('ledger_entries').where({ account_id: idOf(json.user.id) })
    expect(entries.map((one: { kind: string; amount: number }) => [one.kind, one.amount])).to.deep.equal([
      ['grant', 250],
    ])
    const [grant] = await web.db('grants').where({ account_id: idOf(json.user.id) })
    expect(grant).to.include({ origin: 'signup', amount: 250, remaining: 250, expires_at: null })
    await expectBooksToBalance(web.db)
  })

  it('requests one verification mail', async () => {
    const { json } = await register({})
    const mails = await web.db('mails').where({ user_id: await ownerOf(web.db, idOf(json.user.id)) })
    expect(mails.map((one: { kind: string; recipient: string }) => [one.kind, one.recipient])).to.deep.equal([
      ['verification', json.user.email],
    ])
  })

  it('counts passwords in characters: 7 and 73 are refused, 8 and 72 accepted', async () => {
    const faces = (count: number): string => `a1${'😀'.repeat(count - 2)}`
    const cases: [unknown, number, string?][] = [
      ['abcdef1', 400, 'password_too_short'],
      ['abcdefg1', 200],
      [`${'a'.repeat(71)}1`, 200],
      [`${'a'.repeat(72)}1`, 400, 'password_too_long'],
      [faces(7), 400, 'password_too_short'],
      [faces(8), 200],
      [faces(72), 200],
      [faces(73), 400, 'password_too_long'],
      ['abcdefgh', 400, 'password_needs_letter_and_digit'],
      ['12345678', 400, 'password_needs_letter_and_digit'],
      ['        ', 400, 'password_needs_letter_and_digit'],
      ['пароль12', 200],
      [' pass w0rd ', 200],
      [undefined, 400, 'password_too_short'],
      [null, 400, 'password_too_short'],
      [12345678, 400, 'password_too_short'],
      [['abcdefg1'], 400, 'password_too_short'],
      ['abcdefg1\0', 400, 'invalid_request'],
      ['abcdefg1\ud800', 400, 'invalid_request'],
    ]
    for (const [password, status, error] of cases) {
      const reply = await register({ password })
      expect([reply.status, reply.json.error], JSON.stringify(password)).to.deep.equal([status, error])
      if (error) expect(reply.json).to.have.all.keys('ok', 'error', 'message')
    }
  })

  it('does not trim passwords', async () => {
    const email = anEmail()
    await register({ email, password: ' pass w0rd ' })
    expect((await login(email, ' pass w0rd ')).status).to.equal(200)
    expect((await login(email, 'pass w0rd')).status).to.equal(401)
  })

  it('counts a display name in characters: 60 are accepted, 61 refused', async () => {
    const name = '👩‍🚀'.repeat(20)
    expect(Array.from(name)).to.have.length(60)
    for (const [displayName, status] of [
      [name, 200],
      [`${name}a`, 400],
      ['a'.repeat(60), 200],
      ['a'.repeat(61), 400],
      ['', 200],
      [null, 200],
      [5, 400],
      ['a\0b', 400],
      ['a\nb', 400],
      ['\ud800', 400],
    ] as const) {
      const reply = await register({ displayName })
      expect(reply.status, JSON.stringify(displayName)).to.equal(status)
      if (status === 400) expect(reply.json).to.include({ ok: false, error: 'invalid_request' })
      else expect(reply.json.user.displayName).to.equal(displayName ?? '')
    }
  })

  it('refuses what is not an address', async () => {
    const long = `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(61)}.${'d'.repeat(63)}.com`
    expect(long).to.have.length(255)
    const bad = [
      undefined,
      null,
      5,
      '',
      'a',
      'a@b',
      '@b.co',
      'a@',
      'a b@c.de',
      '"x y"@d.com',
      'a@x.com, b@y.com',
      'a@x.com\r\nBcc: z@z.com',
      '<a@x.com>',
      'Ada <a@x.com>',
      'a@[127.0.0.1]',
      'a@x.com(c)',
      'a@x.com.',
      'victim\uff20evil.com@good.com',
      '\ufb00@x.com',
      'a@\u0131.com',
      '\u212a@x.com',
      'a@x.com\0',
      'a@@x.com',
      ' a@x.com',
      long,
    ]
    for (const email of bad) {
      const { status, json } = await register({ email })
      expect([status, json.error], JSON.stringify(email)).to.deep.equal([400, 'invalid_email'])
    }
  })

  it('accepts an address of 254 characters', async () => {
    const mailbox = `${'a'.repeat(57)}${anEmail().split('@')[0]!.slice(-7)}`
    const email = `${mailbox}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(63)}.com`
    expect(email).to.have.length(254)
    expect((await register({ email })).status).to.equal(200)
  })

  it('reports the address first, then the password, then the name', async () => {
    expect((await register({ email: 'x', password: 'x', displayName: 5 })).json.error).to.equal('invalid_email')
    expect((await register({ password: 'x', displayName: 5 })).json.error).to.equal('password_too_short')
  })

  it('refuses an address that is taken, in any case', async () => {
    const { email } = await aPerson(web)
    const { status, json } = await register({ email: email.toUpperCase() })
    expect([status, json.error]).to.deep.equal([409, 'email_taken'])
  })

  it('makes exactly one account of 50 simultaneous registrations of one address in different cases', async () => {
    const email = anEmail()
    const spelled = (index: number): string =>
      Array.from(email, (letter, at) => ((index >> (at % 6)) & 1 ? letter.toUpperCase() : letter)).join('')
    const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => register({ email: spelled(index) })))
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
    expect(replies.filter(({ status, json }) => status === 409 && json.error === 'email_taken')).to.have.length(49)
    const users = await web.db('users').join('members', 'members.user_id', 'users.id').where({ email })
    expect(users).to.have.length(1)
    expect(await balanceOf(web.db, users[0].account_id)).to.equal(250)
    expect(await web.db('mails').where({ recipient: email })).to.have.length(1)
  })

  it('ignores fields that are not its own: identity and credits never come from the body', async () => {
    const { json } = await register({ id: 'acc_1', credits: 1_000_000, emailVerified: true, status: 'suspended' })
    expect(json.user).to.include({ credits: 250, emailVerified: false })
  })
})
