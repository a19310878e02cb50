import { expect } from 'chai'
import {
  PASSWORD,
  aPerson,
  anEmail,
  consoleConfig,
  logIn,
  startConsole,
  startMailWorker,
  testQueues,
} from '../../support/console.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { send, until } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'

describe('/api/email', () => {
  let mailbox: Mailbox
  let web: TestConsole
  let worker: { stop: () => Promise<void> }
  before(async () => {
    mailbox = await startMailbox()
    const config = await consoleConfig({ SMTP_URL: mailbox.url, MAIL_RATE_LIMIT: '5', TRUST_PROXY: '1' })
    web = await startConsole(config)
    worker = startMailWorker(config)
  })
  after(async () => {
    await web.stop()
    await worker.stop()
    await mailbox.stop()
  })

  const me = async (token: string): Promise<Reply> => web.get('/api/auth/me', token)
  const verify = (token: unknown) => web.post('/api/email/verify', { token })
  const resend = (token: string) => web.post('/api/email/resend', {}, token)
  const reset = (token: unknown, password: unknown) => web.post('/api/email/reset', { token, password })
  let clients = 0
  const forgot = (email: unknown) =>
    web.post('/api/email/forgot', { email }, undefined, {
      'x-forwarded-for': `10.9.${clients >> 8}.${clients++ & 255}`,
    })

  const tokenOf = async (person: Person, count = 1): Promise<string> =>
    (await mailbox.of(person.email, count))[count - 1]!.token!
  /** A person, and the token of a reset mail: the second mail after the verification. */
  const forgetful = async (): Promise<{ person: Person; token: string }> => {
    const person = await aPerson(web)
    await mailbox.of(person.email)
    await forgot(person.email)
    return { person, token: await tokenOf(person, 2) }
  }
  const moveTokens = (email: string, by: string) =>
    web
      .db('one_time_tokens')
      .where({ email })
      .update({ expires_at: web.db.raw('expires_at + ?::interval', [by]) })

  describe('verify', () => {
    it('proves the address by the mailed link, without a login', async () => {
      const person = await aPerson(web)
      const { status, json } = await verify(await tokenOf(person))
      expect(status).to.equal(200)
      expect(json).to.have.all.keys('ok', 'user')
      expect(json.user).to.include({ email: person.email, emailVerified: true })
      expect((await me(person.token)).json.user.emailVerified).to.equal(true)
    })

    it('answers invalid_token to a spent link of a verified account', async () => {
      const token = await tokenOf(await aPerson(web))
      await verify(token)
      const { status, json } = await verify(token)
      expect([status, json.error]).to.deep.equal([400, 'invalid_token'])
    })

    it('answers invalid_token to everything that is no token', async () => {
      for (const token of [
        undefined,
        null,
        5,
        '',
        'a',
        'a'.repeat(43),
        'a'.repeat(100_000),
        '\0',
        '\ud800',
        ['a'],
        {},
      ]) {
        const { status, json } = await verify(token)
        expect([status, json.error], String(JSON.stringify(token)).slice(0, 40)).to.deep.equal([400, 'invalid_token'])
      }
    })

    it('takes a link for 24 hours by the clock of the database, and no second longer', async () => {
      const early = await aPerson(web)
      const late = await aPerson(web)
      const tokens = [await tokenOf(early), await tokenOf(late)]
      const { rows } = await web.db.raw(
        `SELECT expires_at - created_at BETWEEN interval '24 hours' AND interval '24 hours 5 seconds' AS day FROM one_time_tokens WHERE email = ?`,
        [early.email],
      )
      expect(rows).to.deep.equal([{ day: true }])
      await moveTokens(early.email, '-23 hours -59 minutes')
      expect((await verify(tokens[0])).status).to.equal(200)
      await moveTokens(late.email, '-24 hours -5 seconds')
      expect((await verify(tokens[1])).json.error).to.equal('invalid_token')
      expect((await me(late.token)).json.user.emailVerified).to.equal(false)
    })

    it('lets exactly one of 20 simultaneous requests with one token win', async () => {
      const token = await tokenOf(await aPerson(web))
      const replies = await Promise.all(Array.from({ length: 20 }, () => verify(token)))
      expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
      expect(replies.filter(({ status, json }) => status === 400 && json.error === 'invalid_token')).to.have.length(19)
    })

    it('takes no reset link, and reset takes no verification link', async () => {
      const { token, person } = await forgetful()
      expect((await verify(token)).json.error).to.equal('invalid_token')
      expect((await reset(await tokenOf(person), 'another horse 2')).json.error).to.equal('invalid_token')
      expect((await reset(token, 'another horse 2')).status).to.equal(200)
    })

    it('does not take a link for an address that the account no longer has', async () => {
      const person = await aPerson(web)
      const token = await tokenOf(person)
      await web.db('users').where({ email: person.email }).update({ email: anEmail() })
      expect((await verify(token)).json.error).to.equal('invalid_token')
    })

    it('is not spent by GET, HEAD or OPTIONS', async () => {
      const token = await tokenOf(await aPerson(web))
      for (const method of ['GET', 'HEAD', 'OPTIONS'])
        expect((await send(method, `${web.url}/api/email/verify?token=${token}`)).status, method).not.to.equal(200)
      expect((await verify(token)).status).to.equal(200)
    })
  })

  describe('a mailbox', () => {
    const mailsTo = async (mailboxName: string): Promise<string[]> => {
      await until(
        'nothing is left to send',
        async () =>
          !(await web
            .db('mails')
            .whereLike('recipient', `${mailboxName}+%`)
            .whereIn('status', ['queued', 'sending'])
            .first()),
      )
      return mailbox.received
        .filter(({ to }) => to[0]!.startsWith(`${mailboxName}+`))
        .map(({ mail }) => (mail.text!.includes('/reset#') ? 'reset' : 'verification'))
    }
    const plus = (email: string, tag: string): string => email.replace('@', `+${tag}@`)

    it('gets 5 verification mails in an hour for all its plus-addresses, whose registrations and resends all succeed', async () => {
      const email = anEmail()
      const people = await Promise.all(Array.from({ length: 9 }, (_, at) => aPerson(web, plus(email, `t${at}`))))
      expect(people.every(({ token }) => token.length > 0)).to.equal(true)
      const again = await resend(people[0]!.token)
      const fresh = await resend((await aPerson(web)).token)
      expect([again.status, again.text]).to.deep.equal([fresh.status, fresh.text])
      expect(await mailsTo(email.split('@')[0]!)).to.deep.equal(Array.from({ length: 5 }, () => 'verification'))
    })

    it('gets 5 reset mails in an hour for all its plus-addresses, and nobody is told', async () => {
      const email = anEmail()
      const people = await Promise.all(Array.from({ length: 3 }, (_, at) => aPerson(web, plus(email, `r${at}`))))
      const replies = await Promise.all(Array.from({ length: 9 }, (_, at) => forgot(people[at % 3]!.email)))
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1)
      expect((await mailsTo(email.split('@')[0]!)).filter((kind) => kind === 'reset')).to.have.length(5)
    })
  })

  describe('resend', () => {
    it('mails another link, and the earlier ones go on working', async () => {
      const person = await aPerson(web)
      const first = await tokenOf(person)
      const { status, json } = await resend(person.token)
      expect([status, json.ok, typeof json.message]).to.deep.equal([200, true, 'string'])
      const second = await tokenOf(person, 2)
      expect(second).not.to.equal(first)
      expect((await verify(first)).status).to.equal(200)
    })

    it('needs no body', async () => {
      const person = await aPerson(web)
      expect((await send('POST', `${web.url}/api/email/resend`, { key: person.token })).status).to.equal(200)
      expect(
        (
          await send('POST', `${web.url}/api/email/resend`, {
            key: person.token,
            headers: { 'content-type': 'application/json' },
          })
        ).status,
      ).to.equal(200)
    })

    it('answers already_verified to a verified account', async () => {
      const person = await aPerson(web)
      await verify(await tokenOf(person))
      const { status, json } = await resend(person.token)
      expect([status, json.error]).to.deep.equal([400, 'already_verified'])
    })

    it('answers 429 once the mailbox had its 5 verification mails in an hour, the one of the registration among them', async () => {
      const person = await aPerson(web)
      const replies = await Promise.all(Array.from({ length: 10 }, () => resend(person.token)))
      expect(replies.filter(({ status }) => status === 200)).to.have.length(4)
      const refused = replies.find(({ status }) => status === 429)!
      expect(refused.json.error).to.equal('rate_limited')
      expect(Number(refused.headers.get('retry-after'))).to.be.within(3500, 3600)
      await mailbox.of(person.email, 5)
      await web
        .db('mails')
        .where({ recipient: person.email })
        .update({ created_at: web.db.raw(`created_at - interval '61 minutes'`) })
      expect((await resend(person.token)).status).to.equal(200)
    })
  })

  describe('forgot', () => {
    it('answers every address with the same bytes', async () => {
      const { email } = await aPerson(web)
      const [known, unknown] = [await forgot(email), await forgot(anEmail())]
      expect(known.status).to.equal(200)
      expect(known.json).to.have.all.keys('ok', 'message')
      expect(known.json.ok).to.equal(true)
      expect(unknown.text).to.equal(known.text)
      expect([...unknown.headers.keys()].toSorted()).to.deep.equal([...known.headers.keys()].toSorted())
    })

    it('writes the same row for every address, and mails those alone that have an account', async () => {
      const { email } = await aPerson(web)
      const nobody = anEmail()
      await forgot(nobody)
      await forgot(email.toUpperCase())
      await mailbox.of(email, 2)
      const row = await until('the mail to nobody is skipped', () =>
        web.db('mails').where({ recipient: nobody, status: 'skipped' }).first(),
      )
      const other = await web.db('mails').where({ recipient: email, kind: 'reset' }).first()
      expect(Object.keys(row)).to.deep.equal(Object.keys(other))
      expect([row.user_id, other.user_id]).to.deep.equal([null, null])
      expect(mailbox.received.filter(({ to }) => to.includes(nobody))).to.deep.equal([])
    })

    it('refuses what is no address', async () => {
      for (const email of [undefined, 5, 'x', 'a@b', 'a@x.com\r\nBcc: b@x.com', 'a@x.com, b@x.com']) {
        const { status, json } = await forgot(email)
        expect([status, json.error], String(email)).to.deep.equal([400, 'invalid_email'])
      }
    })

    it('mails a mailbox 5 links in an hour, then stays silent', async () => {
      const person = await aPerson(web)
      const replies = await Promise.all(Array.from({ length: 9 }, () => forgot(person.email)))
      expect(new Set(replies.map(({ text }) => text)).size).to.equal(1)
      await until('the others are skipped', async () => {
        const rows = await web.db('mails').where({ recipient: person.email, kind: 'reset', status: 'skipped' })
        return rows.length === 4
      })
      await mailbox.of(person.email, 6)
      await until(
        'nothing is left to send',
        async () =>
          !(await web.db('mails').where({ recipient: person.email }).whereIn('status', ['queued', 'sending']).first()),
      )
      expect(
        mailbox.received.filter(({ to, mail }) => to.includes(person.email) && mail.text!.includes('/reset#')),
      ).to.have.length(5)
    })
  })

  describe('reset', () => {
    it('sets the new password and ends every session', async () => {
      const { person, token } = await forgetful()
      const other = await logIn(web, person.email)
      const { status, json } = await reset(token, 'another horse 2')
      expect([status, json.ok, typeof json.message]).to.deep.equal([200, true, 'string'])
      expect([(await me(person.token)).status, (await me(other)).status]).to.deep.equal([401, 401])
      expect((await web.post('/api/auth/login', { email: person.email, password: PASSWORD })).status).to.equal(401)
      expect((await web.post('/api/auth/login', { email: person.email, password: 'another horse 2' })).status).to.equal(
        200,
      )
    })

    it('works once', async () => {
      const { token } = await forgetful()
      await reset(token, 'another horse 2')
      const { status, json } = await reset(token, 'another horse 3')
      expect([status, json.error]).to.deep.equal([400, 'invalid_token'])
    })

    it('is not spent by a weak password', async () => {
      const { token } = await forgetful()
      for (const [password, error] of [
        ['abcdef1', 'password_too_short'],
        [`${'a'.repeat(72)}1`, 'password_too_long'],
        [undefined, 'password_too_short'],
        ['12345678', 'password_needs_letter_and_digit'],
      ]) {
        const { status, json } = await reset(token, password)
        expect([status, json.error]).to.deep.equal([400, error])
      }
      expect((await reset(token, 'abcdefg1')).status).to.equal(200)
    })

    it('looks at the link before the password', async () => {
      for (const token of ['a'.repeat(43), 'x', undefined, 5])
        expect((await reset(token, 'weak')).json.error).to.equal('invalid_token')
    })

    it('takes a link for 30 minutes by the clock of the database, and no second longer', async () => {
      const early = await forgetful()
      const late = await forgetful()
      const { rows } = await web.db.raw(
        `SELECT expires_at - created_at BETWEEN interval '30 minutes' AND interval '30 minutes 5 seconds' AS half
        FROM one_time_tokens WHERE email = ? AND purpose = 'reset'`,
        [early.person.email],
      )
      expect(rows).to.deep.equal([{ half: true }])
      await moveTokens(early.person.email, '-29 minutes -50 seconds')
      expect((await reset(early.token, 'another horse 2')).status).to.equal(200)
      await moveTokens(late.person.email, '-30 minutes -5 seconds')
      expect((await reset(late.token, 'another horse 2')).json.error).to.equal('invalid_token')
    })

    it('takes the newest link alone', async () => {
      const { person, token } = await forgetful()
      await forgot(person.email)
      const newest = await tokenOf(person, 3)
      expect((await reset(token, 'another horse 2')).json.error).to.equal('invalid_token')
      expect((await reset(newest, 'another horse 2')).status).to.equal(200)
    })

    it('does not take a link that was asked for before the password was changed', async () => {
      const { person, token } = await forgetful()
      expect(
        (await web.post('/api/auth/password', { currentPassword: PASSWORD, password: 'another horse 2' }, person.token))
          .status,
      ).to.equal(200)
      expect((await reset(token, 'another horse 3')).json.error).to.equal('invalid_token')
    })

    it('lets exactly one of 20 simultaneous requests with one token win, and its password is the one that holds', async () => {
      const { person, token } = await forgetful()
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) => reset(token, `another horse ${index}`)),
      )
      const won = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []))
      expect(won).to.have.length(1)
      expect(replies.filter(({ json }) => json.error === 'invalid_token')).to.have.length(19)
      expect(
        (await web.post('/api/auth/login', { email: person.email, password: `another horse ${won[0]}` })).status,
      ).to.equal(200)
    })

    it('leaves no session of a login with the old password that ran at the same time', async () => {
      const { person, token } = await forgetful()
      const logins = Array.from({ length: 10 }, () =>
        web.post('/api/auth/login', { email: person.email, password: PASSWORD }),
      )
      const resetting = reset(token, 'another horse 2')
      const more = Array.from({ length: 10 }, () =>
        web.post('/api/auth/login', { email: person.email, password: PASSWORD }),
      )
      expect((await resetting).status).to.equal(200)
      const tokens = (await Promise.all([...logins, ...more])).flatMap(({ json }) =>
        json.token ? [json.token as string] : [],
      )
      expect(await Promise.all(tokens.map(async (one) => (await me(one)).status))).to.deep.equal(tokens.map(() => 401))
    })
  })

  it('keeps no token at rest, neither in Postgres nor in Redis', async () => {
    const { token } = await forgetful()
    for (const table of ['mails', 'one_time_tokens', 'users', 'sessions']) {
      expect(JSON.stringify(await web.db(table)), table).not.to.contain(token)
    }
    const { redis, stop } = testQueues(web.config)
    for (const key of await redis.keys('*')) {
      const kept = await redis.dumpBuffer(key)
      expect(kept?.includes(token) ?? false, key).to.equal(false)
    }
    await stop()
  })
})
