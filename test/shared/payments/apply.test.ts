import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { applyState } from '../../../src/shared/payments/apply.ts'
import { checkOrder } from '../../../src/shared/payments/check.ts'
import { findPayment, orderOf } from '../../../src/shared/payments/orders.ts'
import { refundsOf } from '../../../src/shared/payments/refund-rows.ts'
import { refundPayment } from '../../../src/shared/payments/refunds.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { PaymentFixture } from './fixture.ts'
import { paymentFixture } from './fixture.ts'

describe("a provider's state", () => {
  let db: Db
  let fixture: PaymentFixture
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    fixture = await paymentFixture(db)
  })
  after(async () => {
    await fixture.stop()
    await db.destroy()
  })
  afterEach(() => expectBooksToBalance(db))

  it('that changes nothing is recorded without the lock of the account, and counts as a check', async () => {
    const account = await anAccount(db)
    const { id, checks } = await fixture.buy(account.id)
    await db.transaction(async (trx) => {
      await trx('accounts').where({ id: account.id }).forUpdate().select('id')
      expect(await checkOrder(fixture.deps, id)).to.include({ status: 'paid', checks: checks + 1 })
    })
    expect(await checkOrder(fixture.deps, id)).to.include({ status: 'paid', checks: checks + 2 })
  })

  it('is stale once somebody else has applied a newer one', async () => {
    const account = await anAccount(db)
    const row = await fixture.order(account.id)
    const open = await fixture.deps.provider.read(orderOf(row))
    await fixture.stripe.pay(row.session!)
    await checkOrder(fixture.deps, row.id)
    expect((await applyState(db, row, open!))!.row).to.include({ status: 'paid', version: row.version + 1 })
    expect(await balanceOf(db, account.id)).to.equal(1050)
  })

  it('without a refund is stale once another has listed it, and gives nothing back', async () => {
    const account = await anAccount(db)
    const { id, intent } = await fixture.buy(account.id)
    // The refund waits for its answer; the provider makes it after somebody has looked.
    await fixture.stripe.fault('POST /v1/refunds', '500-kept')
    await refundPayment(fixture.deps, null, id, { amountMinor: 500 })
    const row = (await findPayment(db, id))!
    const seen = (await fixture.deps.provider.read(orderOf(row)))!
    expect(seen.refunds, intent!).to.have.lengthOf(1)
    await checkOrder(fixture.deps, id)
    expect((await refundsOf(db, id)).map(({ status }) => status)).to.deep.equal(['taken'])
    expect(await applyState(db, row, { ...seen, refunds: [] })).to.equal(null)
    expect(await balanceOf(db, account.id)).to.equal(550)
  })
})
