import { expect } from 'chai'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { createCode } from '../../../src/shared/payments/codes.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { PASSWORD, aPerson, anEmail, consoleConfig, startConsole, startMailWorker } from '../../support/console.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { proveAddress } from '../../../scripts/harness/factories.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'
import { until } from '../../../scripts/harness/until.ts'

describe('a mailbox that registers, deletes the account and registers again', () => {
  let mailbox: Mailbox
  let web: TestConsole
  let worker: { stop: () => Promise<void> }
  before(async () => {
    mailbox = await startMailbox()
    web = await startConsole(
      await consoleConfig({ SMTP_URL: mailbox.url, SIGNUP_CREDITS: '500', MAIL_RATE_LIMIT: '5' }),
    )
    worker = startMailWorker(web.config)
  })
  afterEach(() => expectBooksToBalance(web.db))
  after(async () => {
    await web.stop()
    await worker.stop()
    await mailbox.stop()
  })

  const plus = (email: string, tag: number): string => email.replace('@', `+${tag}@`)
  const remove = async ({ email, token }: Person): Promise<void> => {
    const body = { email, password: PASSWORD, giveUpCredits: true }
    expect((await web.post('/api/auth/delete', body, token)).status).to.equal(200)
  }
  /** Verifies with the newest link that arrived. @returns the credits since. */
  const verify = async ({ email }: Person, mails: number): Promise<number> => {
    const links = async () => (await mailbox.of(email)).filter(({ mail }) => mail.text!.includes('/verify#'))
    await until(`verification mail number ${mails}`, async () => (await links()).length >= mails)
    const { json } = await web.post('/api/email/verify', { token: (await links()).at(-1)!.token })
    return json.user.credits
  }
  const redeem = (code: string, { token }: Person) => web.post('/api/billing/redeem', { code }, token)
  const nothingWaits = (part: string) =>
    until('nothing is left to send', async () => {
      const waiting = web.db('mails').whereLike('recipient', `%${part}%`).whereIn('status', ['queued', 'sending'])
      return !(await waiting.first('id'))
    })

  describe('its sign-up credits', () => {
    const signupsOf = (email: string) =>
      web
        .db('grants')
        .join('members', 'members.account_id', 'grants.account_id')
        .join('users', 'users.id', 'members.user_id')
        .where({ email, origin: 'signup' })
    const prove = (token: unknown) => web.post('/api/email/verify', { token })

    it('are granted when the address is verified, and not before', async () => {
      const person = await aPerson(web)
      expect((await web.get('/api/auth/me', person.token)).json.user.credits).to.equal(0)
      const { json } = await prove((await mailbox.first(person.email)).token)
      expect(json.user).to.include({ credits: 500, emailVerified: true })
      expect((await signupsOf(person.email)).map(({ amount, remaining }) => [amount, remaining])).to.deep.equal([
        [500, 500],
      ])
    })

    it('are granted once, whichever of several links is used first, at once or in turn', async () => {
      const person = await aPerson(web)
      await mailbox.of(person.email)
      for (let count = 0; count < 3; count += 1) await web.post('/api/email/resend', {}, person.token)
      const links = (await mailbox.of(person.email, 4)).map(({ token }) => token)
      const replies = await Promise.all(
        links.slice(0, 3).flatMap((token) => Array.from({ length: 5 }, () => prove(token))),
      )
      expect(replies.filter(({ status }) => status === 200).map(({ json }) => json.user.credits)).to.deep.equal([
        500, 500, 500,
      ])
      expect((await prove(links[3])).json.user.credits).to.equal(500)
      expect(await signupsOf(person.email)).to.have.length(1)
    })

    it('are granted once when the first proof is of another address', async () => {
      const person = await aPerson(web)
      const next = `next-${person.email}`
      await web.post('/api/email/change', { email: next, password: PASSWORD }, person.token)
      const { token } = await mailbox.first(next)
      const { json } = await web.post('/api/email/confirm', { token })
      expect(json.user).to.include({ email: next, credits: 500 })
      expect(await signupsOf(next)).to.have.length(1)
    })

    it('are granted once, even if registration has granted them before', async () => {
      const person = await aPerson(web)
      await web.db.transaction((trx) =>
        grant(trx, { id: newId('grant'), accountId: parseId('account', person.id)!, origin: 'signup', amount: 7 }),
      )
      expect((await prove((await mailbox.first(person.email)).token)).json.user).to.include({
        credits: 7,
        emailVerified: true,
      })
    })

    it('cannot be granted twice: a constraint says so', async () => {
      const person = await aPerson(web)
      const signup = () =>
        web.db.transaction((trx) =>
          grant(trx, { id: newId('grant'), accountId: parseId('account', person.id)!, origin: 'signup', amount: 7 }),
        )
      await signup()
      expect(await signup().catch((error: Error) => error.message)).to.match(/grants_signup_once/)
    })
  })

  it('gets the sign-up credits once, also by plus-addresses', async () => {
    const email = anEmail()
    const first = await aPerson(web, email)
    expect(await verify(first, 1)).to.equal(500)
    await remove(first)
    const second = await aPerson(web, email)
    expect(await verify(second, 2)).to.equal(0)
    const beside = await aPerson(web, plus(email, 1))
    expect(await verify(beside, 1)).to.equal(0)
  })

  it('gets the sign-up credits once where two of its accounts are verified at the same moment', async () => {
    const email = anEmail()
    const people = await Promise.all([1, 2, 3].map((tag) => aPerson(web, plus(email, tag))))
    const credits = await Promise.all(people.map((person) => verify(person, 1)))
    expect(credits.toSorted((a, b) => a - b)).to.deep.equal([0, 0, 500])
  })

  it('redeems a code once, also by plus-addresses and at the same moment', async () => {
    const terms = { credits: 7, maxUses: 100, expiresAt: null, creditsExpireAt: null, note: null }
    const { code } = await createCode(web.db, null, terms)
    const email = anEmail()
    const first = await aPerson(web, email)
    expect((await redeem(code, first)).json).to.include({ ok: true, credits: 7 })
    await remove(first)
    for (const again of [await aPerson(web, email), await aPerson(web, plus(email, 1))]) {
      const { status, json } = await redeem(code, again)
      expect([status, json.error]).to.deep.equal([409, 'code_used'])
    }
    const others = anEmail()
    const people = await Promise.all([1, 2, 3].map((tag) => aPerson(web, plus(others, tag))))
    const replies = await Promise.all(people.map((person) => redeem(code, person)))
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
    expect((await redeem(code, await aPerson(web))).status, 'another mailbox').to.equal(200)
  })

  it('gets 5 verification mails an hour, and no more by a new account', async () => {
    const email = anEmail()
    for (let round = 0; round < 6; round += 1) {
      const person = await aPerson(web, email)
      await nothingWaits(email)
      await remove(person)
    }
    expect(mailbox.received.filter(({ to }) => to.includes(email))).to.have.length(5)
  })

  it('gets 5 test mails an hour, whatever accounts ask for them', async () => {
    const email = anEmail()
    const people = await Promise.all([1, 2, 3].map((tag) => aPerson(web, plus(email, tag))))
    const replies = []
    for (const { token } of people)
      for (let count = 0; count < 3; count += 1) replies.push(await web.post('/api/mail/test', {}, token))
    expect(replies.filter(({ status }) => status === 200)).to.have.length(5)
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused).to.have.length(4)
    expect(Number(refused[0]!.headers.get('retry-after'))).to.be.within(1, 3600)
    // Somebody else, with a verified address, does not reach it either.
    const stranger = await aPerson(web)
    await proveAddress(web.db, stranger)
    expect((await web.post('/api/mail/test', { to: email }, stranger.token)).status).to.equal(429)
  })

  it('gets as many where the server refused some before: these are not counted', async () => {
    const { email, token } = await aPerson(web)
    await mailbox.of(email)
    mailbox.refuse(...Array.from({ length: 4 }, () => ({ at: 'DATA' as const, code: 550, text: 'not yet' })))
    const test = async (from: string): Promise<number> => (await web.post('/api/mail/test', { to: email }, from)).status
    for (let count = 0; count < 4; count += 1) expect(await test(token)).to.equal(400)
    expect(await test(token)).to.equal(200)
    const stranger = await aPerson(web)
    await proveAddress(web.db, stranger)
    for (let count = 0; count < 4; count += 1) expect(await test(stranger.token)).to.equal(200)
    expect(await test(stranger.token)).to.equal(429)
  })

  it('gets 5 notices an hour of changes that were asked for; operators see which were skipped', async () => {
    const person = await aPerson(web)
    for (let count = 0; count < 8; count += 1)
      await web.post('/api/email/change', { email: anEmail(), password: PASSWORD }, person.token)
    await nothingWaits(person.email)
    const notices = await web.db('mails').where({ recipient: person.email, kind: 'address_notice' })
    expect(notices.filter(({ status }) => status === 'sent')).to.have.length(5)
    const skipped = notices.filter(({ status }) => status === 'skipped')
    expect(skipped.map(({ note }) => note)).to.deep.equal(
      Array.from({ length: 3 }, () => 'the mailbox had its address_notice mails for this hour'),
    )
  })
})
