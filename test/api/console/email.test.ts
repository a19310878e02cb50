import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { aPerson, aVisitor, anEmail, PASSWORD, useConsole } from '../../support/console.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useMailing } from './support/mailing.ts'
import type { Person } from '../../support/console.ts'
import type { Reply } from '../../../scripts/harness/http.ts'

describe('the address of a person, and mails to it', () => {
  const mailing = useMailing()

  describe('/api/email', () => {
    describe('verify', () => {
      it('proves the address by the mailed link, without a login; then no other is mailed', async () => {
        const person = await aPerson(mailing.web)
        const { status, json } = await mailing.verify(await mailing.tokenOf(person))
        expect(status).to.equal(200)
        expect(json).to.have.all.keys('ok', 'user')
        expect(json.user).to.include({ email: person.email, emailVerified: true })
        expect((await mailing.me(person.token)).json.user.emailVerified).to.equal(true)
        const again = await mailing.resend(person.token)
        expect([again.status, again.json.error]).to.deep.equal([400, 'already_verified'])
      })

      it('answers invalid_token to everything that is not a token', async () => {
        for (const token of [undefined, 5, '', 'a'.repeat(43), 'a'.repeat(10_000), '\0', '\ud800', ['a'], {}]) {
          const { status, json } = await mailing.verify(token)
          expect([status, json.error], String(JSON.stringify(token)).slice(0, 40)).to.deep.equal([400, 'invalid_token'])
        }
      })

      it('accepts a link for exactly 24 hours by the clock of the database', async () => {
        const early = await aPerson(mailing.web)
        const late = await aPerson(mailing.web)
        const tokens = [await mailing.tokenOf(early), await mailing.tokenOf(late)]
        const [[least, most]] = (await mailing.livesOf(early.email, 'verification')) as [[number, number]]
        expect(24 * 3600).to.be.within(least, most)
        await mailing.expireTokens(early.email, '1 minute')
        expect((await mailing.verify(tokens[0])).status).to.equal(200)
        await mailing.expireTokens(late.email, '-1 second')
        expect((await mailing.verify(tokens[1])).json.error).to.equal('invalid_token')
        expect((await mailing.me(late.token)).json.user.emailVerified).to.equal(false)
      })

      it('does not accept a reset link, nor reset a verification link', async () => {
        const { token, person } = await mailing.aForgetfulPerson()
        expect((await mailing.verify(token)).json.error).to.equal('invalid_token')
        expect((await mailing.reset(await mailing.tokenOf(person), 'another horse 2')).json.error).to.equal(
          'invalid_token',
        )
        expect((await mailing.reset(token, 'another horse 2')).status).to.equal(200)
      })

      it('does not accept a link for an address that the account no longer has', async () => {
        const person = await aPerson(mailing.web)
        const token = await mailing.tokenOf(person)
        await mailing.web.db('users').where({ email: person.email }).update({ email: anEmail() })
        expect((await mailing.verify(token)).json.error).to.equal('invalid_token')
      })
    })

    describe('resend', () => {
      it('answers 429 after 5 verification mails in an hour, counting that of the registration', async () => {
        const person = await aPerson(mailing.web)
        const replies = await Promise.all(Array.from({ length: 10 }, () => mailing.resend(person.token)))
        expect(replies.filter(({ status }) => status === 200)).to.have.length(4)
        const refused = replies.find(({ status }) => status === 429)!
        expect(refused.json.error).to.equal('rate_limited')
        expect(Number(refused.headers.get('retry-after'))).to.be.within(3500, 3600)
        await mailing.mailbox.of(person.email, 5)
        await mailing.web
          .db('mails')
          .where({ recipient: person.email })
          .update({ created_at: mailing.web.db.raw(`created_at - interval '61 minutes'`) })
        expect((await mailing.resend(person.token)).status).to.equal(200)
      })
    })
  })

  describe('a change of address', () => {
    const ask = (person: Person, email: unknown, password = PASSWORD): Promise<Reply> =>
      mailing.web.post('/api/email/change', { email, password }, person.token)
    const confirm = (token: unknown): Promise<Reply> => mailing.web.post('/api/email/confirm', { token })
    const linkTo = async (email: string, count = 1): Promise<string> =>
      (await mailing.mailbox.of(email, count))[count - 1]!.token!
    const logInStatus = async (email: string): Promise<number> =>
      (await mailing.web.post('/api/auth/login', { email, password: PASSWORD })).status
    const subjectsTo = async (email: string, count: number): Promise<(string | undefined)[]> =>
      (await mailing.mailbox.of(email, count)).map(({ mail }) => mail.subject)

    it('happens once, by the link to the new one, and the old one is notified before and after', async () => {
      const person = await aPerson(mailing.web)
      const verification = await linkTo(person.email)
      const next = anEmail()
      expect((await ask(person, next.toUpperCase())).status).to.equal(200)
      const token = await linkTo(next)
      const told = await mailing.mailbox.of(person.email, 2)
      expect(told[1]!.mail.text).to.contain(next).and.not.to.contain('#token=')
      expect([await logInStatus(person.email), await logInStatus(next)]).to.deep.equal([200, 401])

      const shown = async (link: string): Promise<unknown> =>
        (await mailing.web.post('/api/email/confirm/address', { token: link })).json
      expect(await shown(token)).to.deep.equal({ ok: true, email: next })
      expect(await shown(verification)).to.deep.equal({ ok: true, email: null })
      const { json } = await confirm(token)
      expect(await shown(token)).to.deep.equal({ ok: true, email: null })
      expect(json.user).to.include({ id: person.id, email: next, emailVerified: true })
      expect([await logInStatus(person.email), await logInStatus(next)]).to.deep.equal([401, 200])
      expect((await mailing.me(person.token)).json.user.email).to.equal(next)
      expect(await subjectsTo(person.email, 3)).to.deep.equal([
        'Confirm your e-mail address for Tollgate',
        'A new e-mail address was requested for your Tollgate account',
        'The e-mail address of your Tollgate account has changed',
      ])
      // Links to the old address ended with it.
      for (const spent of [await confirm(token), await mailing.verify(verification), await mailing.verify(token)])
        expect([spent.status, spent.json.error]).to.deep.equal([400, 'invalid_token'])
    })

    it('reveals to nobody whether an account has the address, and mails no link to one that is taken', async () => {
      const [person, other] = [await aPerson(mailing.web), await aPerson(mailing.web)]
      const free = anEmail()
      const [taken, open] = [await ask(person, other.email), await ask(person, free)]
      expect(taken.text.replace(other.email, free)).to.equal(open.text)
      expect([taken.status, open.status]).to.deep.equal([200, 200])
      await until('the mail to the taken address is skipped', () =>
        mailing.web.db('mails').where({ recipient: other.email, kind: 'address', status: 'skipped' }).first(),
      )
      expect(await subjectsTo(person.email, 3)).to.have.length(3)
      const found = (await mailing.mailbox.of(other.email)).filter(({ mail }) => mail.text!.includes('/new-address#'))
      expect(found).to.deep.equal([])
    })

    it('asks for the password, for an address, and for another one than there is', async () => {
      const person = await aPerson(mailing.web)
      for (const [email, password, error] of [
        [anEmail(), 'wrong horse 1', 'wrong_password'],
        ['a@b', PASSWORD, 'invalid_email'],
        [person.email.toUpperCase(), PASSWORD, 'invalid_request'],
      ] as const) {
        const { status, json } = await ask(person, email, password)
        expect([status, json.error]).to.deep.equal([400, error])
      }
      expect(
        await mailing.web.db('mails').whereIn('kind', ['address', 'address_notice']).where('recipient', person.email),
      ).to.deep.equal([])
    })

    it('is allowed ten times an hour', async () => {
      const person = await aPerson(mailing.web)
      const replies = await Promise.all(Array.from({ length: 12 }, () => ask(person, 'a@b')))
      expect(replies.filter(({ status }) => status === 400)).to.have.length(10)
      expect(replies.filter(({ status }) => status === 429)).to.have.length(2)
    })

    it('ends with a newer request, another password, and a registration with the address', async () => {
      const person = await aPerson(mailing.web)
      const [first, second, third] = [anEmail(), anEmail(), anEmail()]
      await ask(person, first)
      const old = await linkTo(first)
      await ask(person, second)
      const newer = await linkTo(second)
      expect((await confirm(old)).json.error).to.equal('invalid_token')
      await mailing.web.post(
        '/api/auth/password',
        { currentPassword: PASSWORD, password: `${PASSWORD}2` },
        person.token,
      )
      expect((await confirm(newer)).json.error).to.equal('invalid_token')
      await ask(person, third, `${PASSWORD}2`)
      const last = await linkTo(third)
      await aPerson(mailing.web, third)
      expect((await confirm(last)).json.error).to.equal('invalid_token')
      expect((await mailing.me(person.token)).json.user.email).to.equal(person.email)
    })

    it('gives an address to one of all who confirm it at the same moment', async () => {
      const wanted = anEmail()
      const people = await Promise.all([aPerson(mailing.web), aPerson(mailing.web), aPerson(mailing.web)])
      for (const person of people) await ask(person, wanted)
      const links = (await mailing.mailbox.of(wanted, 3)).map(({ token }) => token)
      const replies = await Promise.all(links.flatMap((token) => [confirm(token), confirm(token)]))
      expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
      expect(replies.filter(({ json }) => json.error === 'invalid_token')).to.have.length(5)
      expect(await mailing.web.db('users').where({ email: wanted })).to.have.length(1)
    })
  })

  describe('/api/mail', () => {
    const test = (token: string, body?: unknown) => mailing.web.post('/api/mail/test', body, token)

    it('shows the transport and the base address', async () => {
      const { token } = await aVisitor(mailing.web)
      const due = { ok: true, transport: 'smtp', smtpConfigured: true, baseUrl: 'https://gate.example' }
      expect((await mailing.web.get('/api/mail/status', token)).json).to.deep.equal(due)
    })

    it("sends a test mail to the account's own address, at once, with or without a body", async () => {
      const { token, email } = await aVisitor(mailing.web)
      for (const body of [undefined, {}, { to: null }]) {
        const { status, json } = await test(token, body)
        expect([status, json.ok, json.transport, json.to]).to.deep.equal([200, true, 'smtp', email])
        expect(mailing.mailbox.received.at(-1)!.messageId).to.equal(json.messageId)
      }
    })

    it('sends a test mail to another address if the own one is verified, and never to two', async () => {
      const { token, email } = await aVisitor(mailing.web)
      await mailing.web.db('users').where({ email }).update({ email_verified_at: mailing.web.db.fn.now() })
      const { json } = await test(token, { to: 'Other@Example.com' })
      expect(json.to).to.equal('other@example.com')
      expect(mailing.mailbox.received.at(-1)!.to).to.deep.equal(['other@example.com'])
      const before = mailing.mailbox.tries()
      for (const to of ['', 'x', 5, 'a@x.com, b@x.com', 'a@x.com\r\nBcc: b@x.com', 'Ada <a@x.com>', ['a@x.com']]) {
        const reply = await test(token, { to })
        expect([reply.status, reply.json.error], JSON.stringify(to)).to.deep.equal([400, 'invalid_email'])
      }
      expect(mailing.mailbox.tries()).to.equal(before)
    })

    it('refuses every other address to an unverified account, and does not count that', async () => {
      const { token, email } = await aVisitor(mailing.web)
      const before = mailing.mailbox.tries()
      for (const to of [
        'other@example.com',
        email.replace('@', '+x@'),
        ...`x${email} a@b.example c@d.example e@f.example`.split(' '),
      ]) {
        const reply = await test(token, { to })
        expect([reply.status, reply.json.ok, reply.json.error], to).to.deep.equal([403, false, 'email_unverified'])
      }
      expect(mailing.mailbox.tries()).to.equal(before)
      expect((await test(token, { to: email.toUpperCase() })).json.to).to.equal(email)
    })

    it("answers mail_failed with the server's own reason", async () => {
      const { token } = await aVisitor(mailing.web)
      mailing.mailbox.refuse({ at: 'RCPT', code: 550, text: 'relaying is not for you' })
      const { status, json } = await test(token)
      expect([status, json.ok, json.error]).to.deep.equal([400, false, 'mail_failed'])
      expect(json.message).to.contain('relaying is not for you')
    })

    it('sends 5 test mails in 10 minutes for an account, and refuses the 6th', async () => {
      const { token } = await aVisitor(mailing.web)
      const begun = performance.now()
      for (let count = 1; count <= 5; count += 1) expect((await test(token)).status).to.equal(200)
      const { status, json, headers } = await test(token)
      expect([status, json.error]).to.deep.equal([429, 'rate_limited'])
      expect(Number(headers.get('retry-after'))).to.be.within(600 - (performance.now() - begun) / 1000, 600)
      expect((await test((await aVisitor(mailing.web)).token)).status).to.equal(200)
    })
  })
})

describe('/api/mail without SMTP', () => {
  const web = useConsole()

  it('shows that mail goes to a file, and writes the test mail there', async () => {
    const { token, email } = await aVisitor(web)
    expect((await web.get('/api/mail/status', token)).json).to.include({ transport: 'file', smtpConfigured: false })
    const { json } = await web.post('/api/mail/test', undefined, token)
    expect(json).to.include({ ok: true, transport: 'file', to: email })
    const lines = readFileSync(web.config.MAIL_FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { to: string; text: string })
    expect(lines.at(-1)).to.include({ to: email }).and.to.have.property('text').that.contains('https://gate.example')
  })
})
