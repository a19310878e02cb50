import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { changeSettings, noticeLowBalances } from '../../../src/shared/payments/settings.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, proveAddress } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { spent, verbs } from '../calls/opening.ts'

describe('the mail about a low balance', () => {
  let db: Db
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(() => db.destroy())
  afterEach(() => expectBooksToBalance(db))

  const mailsTo = ({ email }: TestAccount): Promise<string[]> =>
    db('mails').where({ recipient: email }).orderBy('id').pluck<string[]>('kind')

  it('is sent once for a threshold, even if the same one is set again', async () => {
    const account = await anAccount(db, 1000)
    await proveAddress(db, account)
    for (let round = 0; round < 5; round++) {
      await changeSettings(db, account.id, { lowBalance: { threshold: 995 } }, false)
      await spent(verbs(db), account, 10)
      await noticeLowBalances(db, 200)
    }
    expect(await mailsTo(account)).to.deep.equal(['low_balance'])
    await changeSettings(db, account.id, { lowBalance: { threshold: 900 } }, false)
    await spent(verbs(db), account, 100)
    await noticeLowBalances(db, 200)
    expect(await mailsTo(account)).to.deep.equal(['low_balance', 'low_balance'])
  })
})
