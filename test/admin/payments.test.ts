import { expect } from 'chai'
import type { Report } from '../../src/admin/command.ts'
import { codeCommands } from '../../src/admin/commands/codes.ts'
import { paymentCommands } from '../../src/admin/commands/payments.ts'
import { connectDb } from '../../src/shared/infra/db.ts'
import type { Db } from '../../src/shared/infra/db.ts'
import { publicId } from '../../src/shared/ids.ts'
import { redeemCode } from '../../src/shared/payments/codes.ts'
import { putToReview } from '../../src/shared/payments/apply.ts'
import { newDatabaseUrl } from '../../scripts/harness/database.ts'
import { anAccount, balanceOf, debtOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { aResult, opened, verbs } from '../shared/calls/opening.ts'
import type { PaymentWorld } from '../shared/payments/world.ts'
import { WEBHOOK_SECRET, paymentWorld } from '../shared/payments/world.ts'

describe("the operator's commands of payments", () => {
  const environment = { ...process.env }
  let db: Db
  let world: PaymentWorld
  let account: TestAccount
  before(async () => {
    db = connectDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    world = await paymentWorld(db)
    Object.assign(process.env, {
      PAYMENTS: 'stripe',
      STRIPE_SECRET_KEY: world.stripe.key,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_API_BASE: world.sandbox.url,
    })
  })
  after(async () => {
    for (const name of ['PAYMENTS', 'STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET', 'STRIPE_API_BASE'])
      if (environment[name] === undefined) delete process.env[name]
      else process.env[name] = environment[name]
    await world.stop()
    await db.destroy()
  })
  beforeEach(async () => {
    account = await anAccount(db)
  })
  afterEach(() => expectBooksToBalance(db))

  // oxlint-disable-next-line typescript/no-explicit-any
  async function run(name: string, args: string[] = [], options: Record<string, string> = {}): Promise<any> {
    const command = [...paymentCommands, ...codeCommands].find(({ usage }) => usage.startsWith(name))!
    return ((await command.run(db, args, options)) as Report).json
  }

  it('find a payment, read it anew, show it and refund a part of it', async () => {
    const row = await world.order(account.id)
    const id = publicId('payment', row.id)
    const { payments } = await run('payment list', [], { search: account.email, status: 'open' })
    expect(payments.map((one: { id: string }) => one.id)).to.deep.equal([id])
    await world.stripe.pay(row.session!)
    expect((await run('payment sync', [id])).payment.status).to.equal('paid')
    await run('payment refund', [id], { amount: '500' })
    const { payment, refunds } = await run('payment show', [id])
    expect(payment).to.include({ status: 'paid', reversed: 500, refundedMinor: 500 })
    expect(refunds).to.have.lengthOf(1)
    expect(await balanceOf(db, account.id)).to.equal(550)
  })

  it('end a review, by granting or not', async () => {
    for (const how of ['grant', 'dismiss']) {
      const row = await world.order(account.id)
      await putToReview(db, row.id, 'amount')
      await run('payment resolve', [publicId('payment', row.id)], { [how]: 'yes' })
      expect(await balanceOf(db, account.id), how).to.equal(1050)
    }
  })

  it('make codes, list them and disable them', async () => {
    const { id, code } = await run('codes create', [], { credits: '9', uses: '2' })
    expect((await redeemCode(db, account.id, code)).balance).to.equal(9)
    const { codes } = await run('codes list')
    expect(codes[0]).to.include({ id, credits: 9, uses: 1, maxUses: 2, disabledAt: null })
    expect((await run('codes disable', [id])).disabledAt).to.be.a('string')
  })

  it('let a debt go', async () => {
    await world.buy(account.id)
    await verbs(db).settle(await opened(verbs(db), account, 1050), 'image', aResult(1060))
    expect(await debtOf(db, account.id)).to.equal(10)
    expect(await run('debt forgive', [account.email])).to.deep.equal({ forgiven: 10 })
    expect(await debtOf(db, account.id)).to.equal(0)
  })
})
