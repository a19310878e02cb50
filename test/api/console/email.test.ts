import { expect } from 'chai'
import { aPerson, anEmail } from '../../support/console.ts'
import { send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { startMailConsole } from './support/mailing.ts'
import type { MailConsole } from './support/mailing.ts'

describe('/api/email', () => {
  let mailing: MailConsole
  before(async () => {
    mailing = await startMailConsole()
  })
  after(() => mailing.stop())

  describe('verify', () => {
    it('proves the address by the mailed link, without a login', async () => {
      const person = await aPerson(mailing.web)
      const { status, json } = await mailing.verify(await mailing.tokenOf(person))
      expect(status).to.equal(200)
      expect(json).to.have.all.keys('ok', 'user')
      expect(json.user).to.include({ email: person.email, emailVerified: true })
      expect((await mailing.me(person.token)).json.user.emailVerified).to.equal(true)
    })

    it('answers invalid_token to a spent link of a verified account', async () => {
      const token = await mailing.tokenOf(await aPerson(mailing.web))
      await mailing.verify(token)
      const { status, json } = await mailing.verify(token)
      expect([status, json.error]).to.deep.equal([400, 'invalid_token'])
    })

    it('answers invalid_token to everything that is not a token', async () => {
      for (const token of [
        undefined,
        null,
        5,
        '',
        'a',
        'a'.repeat(43),
        'a'.repeat(10_000),
        '\0',
        '\ud800',
        ['a'],
        {},
      ]) {
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

    it('lets exactly one of 20 simultaneous requests with one token win', async () => {
      const token = await mailing.tokenOf(await aPerson(mailing.web))
      const replies = await Promise.all(Array.from({ length: 20 }, () => mailing.verify(token)))
      expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
      expect(replies.filter(({ status, json }) => status === 400 && json.error === 'invalid_token')).to.have.length(19)
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

    it('does not spend the link on GET, HEAD or OPTIONS', async () => {
      const token = await mailing.tokenOf(await aPerson(mailing.web))
      for (const method of ['GET', 'HEAD', 'OPTIONS'])
        expect((await send(method, `${mailing.web.url}/api/email/verify?token=${token}`)).status, method).not.to.equal(
          200,
        )
      expect((await mailing.verify(token)).status).to.equal(200)
    })
  })

  describe('a mailbox', () => {
    const mailsTo = async (mailboxName: string): Promise<string[]> => {
      await until(
        'nothing is left to send',
        async () =>
          !(await mailing.web
            .db('mails')
            .whereLike('recipient', `${mailboxName}+%`)
            .whereIn('status', ['queued', 'sending'])
            .first()),
      )
      return mailing.mailbox.received
        .filter(({ to }) => to[0]!.startsWith(`${mailboxName}+`))
        .map(({ mail }) => (mail.text!.includes('/reset#') ? 'reset' : 'verification'))
    }
    const plus = (email: string, tag: string): string => email.replace('@', `+${tag}@`)

    it('gets 5 verification mails an hour for all its plus-addresses, which can all register', async () => {
      const email = anEmail()
      const people = await Promise.all(
        Array.from({ length: 9 }, (_, at) => aPerson(mailing.web, plus(email, `t${at}`))),
      )
      expect(people.every(({ token }) => token.length > 0)).to.equal(true)
      const again = await mailing.resend(people[0]!.token)
      const fresh = await mailing.resend((await aPerson(mailing.web)).token)
      expect([again.status, again.text]).to.deep.equal([fresh.status, fresh.text])
      expect(await mailsTo(email.split('@')[0]!)).to.deep.equal(Array.from({ length: 5 }, () => 'verification'))
    })

    it('gets 5 reset mails an hour for all its plus-addresses, and answers do not show it', async () => {
      const email = anEmail()
      const people = await Promise.all(
        Array.from({ length: 3 }, (_, at) => aPerson(mailing.web, plus(email, `r${at}`))),
      )
      const replies = await Promise.all(Array.from({ length: 9 }, (_, at) => mailing.forgot(people[at % 3]!.email)))
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1)
      expect((await mailsTo(email.split('@')[0]!)).filter((kind) => kind === 'reset')).to.have.length(5)
    })
  })

  describe('resend', () => {
    it('mails another link, and the earlier ones keep working', async () => {
      const person = await aPerson(mailing.web)
      const first = await mailing.tokenOf(person)
      const { status, json } = await mailing.resend(person.token)
      expect([status, json.ok, typeof json.message]).to.deep.equal([200, true, 'string'])
      const second = await mailing.tokenOf(person, 2)
      expect(second).not.to.equal(first)
      expect((await mailing.verify(first)).status).to.equal(200)
    })

    it('needs no body', async () => {
      const person = await aPerson(mailing.web)
      expect((await send('POST', `${mailing.web.url}/api/email/resend`, { key: person.token })).status).to.equal(200)
      expect(
        (
          await send('POST', `${mailing.web.url}/api/email/resend`, {
            key: person.token,
            headers: { 'content-type': 'application/json' },
          })
        ).status,
      ).to.equal(200)
    })

    it('answers already_verified to a verified account', async () => {
      const person = await aPerson(mailing.web)
      await mailing.verify(await mailing.tokenOf(person))
      const { status, json } = await mailing.resend(person.token)
      expect([status, json.error]).to.deep.equal([400, 'already_verified'])
    })

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
