import { expect } from 'chai'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { PASSWORD, aPerson, consoleConfig, startConsole, startMailWorker } from '../../support/console.ts'
import type { Person, TestConsole } from '../../support/console.ts'
import { startMailbox } from '../../../scripts/harness/mailbox.ts'
import type { Mailbox } from '../../../scripts/harness/mailbox.ts'

describe('the sign-up credits', () => {
  let mailbox: Mailbox
  let granting: TestConsole
  let mails: { stop: () => Promise<void> }
  before(async () => {
    mailbox = await startMailbox()
    granting = await startConsole(await consoleConfig({ SMTP_URL: mailbox.url, SIGNUP_CREDITS: '250' }))
    mails = startMailWorker(granting.config)
  })
  after(async () => {
    await granting.stop()
    await mails.stop()
    await mailbox.stop()
  })

  const tokenOf = async ({ email }: Person): Promise<string> => (await mailbox.first(email)).token!
  const signupsOf = (email: string) =>
    granting
      .db('grants')
      .join('members', 'members.account_id', 'grants.account_id')
      .join('users', 'users.id', 'members.user_id')
      .where({ email, origin: 'signup' })
  const prove = (token: unknown) => granting.post('/api/email/verify', { token })

  it('are granted when the address is verified, and not before', async () => {
    const person = await aPerson(granting)
    expect((await granting.get('/api/auth/me', person.token)).json.user.credits).to.equal(0)
    const { json } = await prove(await tokenOf(person))
    expect(json.user).to.include({ credits: 250, emailVerified: true })
    expect((await signupsOf(person.email)).map(({ amount, remaining }) => [amount, remaining])).to.deep.equal([
      [250, 250],
    ])
    await expectBooksToBalance(granting.db)
  })

  it('are granted once, whichever of several links is used first, at once or in turn', async () => {
    const person = await aPerson(granting)
    await mailbox.of(person.email)
    for (let count = 0; count < 3; count += 1) await granting.post('/api/email/resend', {}, person.token)
    const links = (await mailbox.of(person.email, 4)).map(({ token }) => token)
    const replies = await Promise.all(
      links.slice(0, 3).flatMap((token) => Array.from({ length: 5 }, () => prove(token))),
    )
    expect(replies.filter(({ status }) => status === 200).map(({ json }) => json.user.credits)).to.deep.equal([
      250, 250, 250,
    ])
    expect((await prove(links[3])).json.user.credits).to.equal(250)
    expect(await signupsOf(person.email)).to.have.length(1)
    await expectBooksToBalance(granting.db)
  })

  it('are granted once when the first proof is of another address', async () => {
    const person = await aPerson(granting)
    const next = `next-${person.email}`
    await granting.post('/api/email/change', { email: next, password: PASSWORD }, person.token)
    const { token } = await mailbox.first(next)
    const { json } = await granting.post('/api/email/confirm', { token })
    expect(json.user).to.include({ email: next, credits: 250 })
    expect(await signupsOf(next)).to.have.length(1)
    await expectBooksToBalance(granting.db)
  })

  it('are granted once, even if registration has granted them before', async () => {
    const person = await aPerson(granting)
    await granting.db.transaction((trx) =>
      grant(trx, { id: newId('grant'), accountId: parseId('account', person.id)!, origin: 'signup', amount: 7 }),
    )
    expect((await prove(await tokenOf(person))).json.user).to.include({ credits: 7, emailVerified: true })
  })

  it('cannot be granted twice: a constraint says so', async () => {
    const person = await aPerson(granting)
    const signup = () =>
      granting.db.transaction((trx) =>
        grant(trx, { id: newId('grant'), accountId: parseId('account', person.id)!, origin: 'signup', amount: 7 }),
      )
    await signup()
    expect(await signup().catch((error: Error) => error.message)).to.match(/grants_signup_once/)
    await expectBooksToBalance(granting.db)
  })
})
