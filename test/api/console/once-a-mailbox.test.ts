import { expect } from 'chai'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { createCode } from '../../../src/shared/payments/codes.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { PASSWORD, aPerson, anEmail } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { proveAddress } from '../../../scripts/harness/factories.ts'
import { useMailing } from './support/mailing.ts'
import { until } from '../../../scripts/harness/until.ts'

describe('a mailbox that registers, deletes the account and registers again', () => {
  const mailing = useMailing({ SIGNUP_CREDITS: '500' })
  afterEach(() => expectBooksToBalance(mailing.web.db))
  const plus = (email: string, tag: number): string => email.replace('@', `+${tag}@`)
  const remove = async ({ email, token }: Person): Promise<void> => {
    const body = { email, password: PASSWORD, giveUpCredits: true }
    expect((await mailing.web.post('/api/auth/delete', body, token)).status).to.equal(200)
  }
  /** Verifies with the newest link that arrived. @returns the credits since. */
  const verify = async ({ email }: Person, mails: number): Promise<number> => {
    const links = async () => (await mailing.mailbox.of(email)).filter(({ mail }) => mail.text!.includes('/verify#'))
    await until(`verification mail number ${mails}`, async () => (await links()).length >= mails)
    const { json } = await mailing.web.post('/api/email/verify', { token: (await links()).at(-1)!.token })
    return json.user.credits
  }
  const redeem = (code: string, { token }: Person) => mailing.web.post('/api/billing/redeem', { code }, token)
  const nothingWaits = (part: string) =>
    until('nothing is left to send', async () => {
      const waiting = mailing.web
        .db('mails')
        .whereLike('recipient', `%${part}%`)
        .whereIn('status', ['queued', 'sending'])
      return !(await waiting.first('id'))
    })

  describe('its sign-up credits', () => {
    const signupsOf = (email: string) =>
      mailing.web
        .db('grants')
        .join('members', 'members.account_id', 'grants.account_id')
        .join('users', 'users.id', 'members.user_id')
        .where({ email, origin: 'signup' })
    const prove = (token: unknown) => mailing.web.post('/api/email/verify', { token })

    it('are granted once, even if registration has granted them before', async () => {
      const person = await aPerson(mailing.web)
      await mailing.web.db.transaction((trx) =>
        grant(trx, { id: newId('grant'), accountId: parseId('account', person.id)!, origin: 'signup', amount: 7 }),
      )
      const { json } = await prove((await mailing.mailbox.first(person.email)).token)
      expect(json.user).to.include({ credits: 7, emailVerified: true })
    })

    it('are granted once, whichever of several links is used first, at once or in turn', async () => {
      const person = await aPerson(mailing.web)
      await mailing.mailbox.of(person.email)
      for (let count = 0; count < 3; count += 1) await mailing.web.post('/api/email/resend', {}, person.token)
      const links = (await mailing.mailbox.of(person.email, 4)).map(({ token }) => token)
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
      const person = await aPerson(mailing.web)
      const next = `next-${person.email}`
      await mailing.web.post('/api/email/change', { email: next, password: PASSWORD }, person.token)
      const { token } = await mailing.mailbox.first(next)
      const { json } = await mailing.web.post('/api/email/confirm', { token })
      expect(json.user).to.include({ email: next, credits: 500 })
      expect(await signupsOf(next)).to.have.length(1)
    })
  })

  it('gets the sign-up credits once, also by plus-addresses', async () => {
    const email = anEmail()
    const first = await aPerson(mailing.web, email)
    expect(await verify(first, 1)).to.equal(500)
    await remove(first)
    const second = await aPerson(mailing.web, email)
    expect(await verify(second, 2)).to.equal(0)
    const beside = await aPerson(mailing.web, plus(email, 1))
    expect(await verify(beside, 1)).to.equal(0)
  })

  it('gets the sign-up credits once where two of its accounts are verified at the same moment', async () => {
    const email = anEmail()
    const people = await Promise.all([1, 2, 3].map((tag) => aPerson(mailing.web, plus(email, tag))))
    const credits = await Promise.all(people.map((person) => verify(person, 1)))
    expect(credits.toSorted((a, b) => a - b)).to.deep.equal([0, 0, 500])
  })

  it('redeems a code once, also by plus-addresses and at the same moment', async () => {
    const terms = { credits: 7, maxUses: 100, expiresAt: null, creditsExpireAt: null, note: null }
    const { code } = await createCode(mailing.web.db, null, terms)
    const email = anEmail()
    const first = await aPerson(mailing.web, email)
    expect((await redeem(code, first)).json).to.include({ ok: true, credits: 7 })
    await remove(first)
    for (const again of [await aPerson(mailing.web, email), await aPerson(mailing.web, plus(email, 1))]) {
      const { status, json } = await redeem(code, again)
      expect([status, json.error]).to.deep.equal([409, 'code_used'])
    }
    const others = anEmail()
    const people = await Promise.all([1, 2, 3].map((tag) => aPerson(mailing.web, plus(others, tag))))
    const replies = await Promise.all(people.map((person) => redeem(code, person)))
    expect(replies.filter(({ status }) => status === 200)).to.have.length(1)
    expect((await redeem(code, await aPerson(mailing.web))).status, 'another mailbox').to.equal(200)
  })

  it('gets 5 verification mails an hour, and no more by a new account', async () => {
    const email = anEmail()
    const first = await aPerson(mailing.web, email)
    for (let nth = 1; nth < 5; nth += 1) await mailing.resend(first.token)
    await mailing.mailbox.of(email, 5)
    await remove(first)
    await aPerson(mailing.web, email)
    await nothingWaits(email)
    expect(mailing.mailbox.received.filter(({ to }) => to.includes(email))).to.have.length(5)
  })

  it('gets 5 test mails an hour, whatever accounts ask for them', async () => {
    const email = anEmail()
    const people = await Promise.all([1, 2, 3].map((tag) => aPerson(mailing.web, plus(email, tag))))
    const replies = []
    for (const { token } of people)
      for (let count = 0; count < 3; count += 1) replies.push(await mailing.web.post('/api/mail/test', {}, token))
    expect(replies.filter(({ status }) => status === 200)).to.have.length(5)
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused).to.have.length(4)
    expect(Number(refused[0]!.headers.get('retry-after'))).to.be.within(1, 3600)
    // Somebody else, with a verified address, does not reach it either.
    const stranger = await aPerson(mailing.web)
    await proveAddress(mailing.web.db, stranger)
    expect((await mailing.web.post('/api/mail/test', { to: email }, stranger.token)).status).to.equal(429)
  })

  it('gets as many where the server refused some before: these are not counted', async () => {
    const { email, token } = await aPerson(mailing.web)
    await mailing.mailbox.of(email)
    mailing.mailbox.refuse(...Array.from({ length: 4 }, () => ({ at: 'DATA' as const, code: 550, text: 'not yet' })))
    const test = async (from: string): Promise<number> =>
      (await mailing.web.post('/api/mail/test', { to: email }, from)).status
    for (let count = 0; count < 4; count += 1) expect(await test(token)).to.equal(400)
    expect(await test(token)).to.equal(200)
    const stranger = await aPerson(mailing.web)
    await proveAddress(mailing.web.db, stranger)
    for (let count = 0; count < 4; count += 1) expect(await test(stranger.token)).to.equal(200)
    expect(await test(stranger.token)).to.equal(429)
  })

  // That other kinds are counted in the same way: test/workers/mail/mailbox-limits.test.ts.
  it('gets 5 reset mails an hour; operators alone see which were skipped', async () => {
    const { email } = await aPerson(mailing.web)
    for (let count = 0; count < 8; count += 1) expect((await mailing.forgot(email)).status).to.equal(200)
    await nothingWaits(email)
    const mails = await mailing.web.db('mails').where({ recipient: email, kind: 'reset' }).pluck('note')
    expect(mails.filter((note) => note === null)).to.have.length(5)
    expect(mails.filter((note) => note === 'the mailbox had its reset mails for this hour')).to.have.length(3)
  })
})
