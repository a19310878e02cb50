import { expect } from 'chai'
import { codeCommands } from '../../src/admin/commands/codes.ts'
import { accountClosureCommands } from '../../src/admin/commands/account-closure.ts'
import { paymentCommands } from '../../src/admin/commands/payments.ts'
import { publicId } from '../../src/shared/platform/ids.ts'
import { redeemCode } from '../../src/shared/payments/codes.ts'
import { findPayment } from '../../src/shared/payments/orders.ts'
import { putToReview } from '../../src/shared/payments/apply.ts'
import { balanceOf, debtOf, mailboxes } from '../../scripts/harness/factories.ts'
import { aResult, opened, verbs } from '../shared/calls/opening.ts'
import { aPaidPayment, stripeAt, usePayments } from '../shared/payments/fixture.ts'
import { useBooks } from '../support/database.ts'
import { useAccount } from '../support/gateway.ts'
import { commandsOver } from '../support/commands.ts'

describe("the operator's commands of payments", () => {
  const environment = { ...process.env }
  const db = useBooks({ isOwn: true })
  const fixture = usePayments(db)
  const account = useAccount({ db })
  before(() => void Object.assign(process.env, stripeAt(fixture.sandbox.url, fixture.stripe.key)))
  after(() => {
    for (const name of Object.keys(stripeAt('', '')))
      if (environment[name] === undefined) delete process.env[name]
      else process.env[name] = environment[name]
  })

  // oxlint-disable-next-line typescript/no-explicit-any
  const { run: report } = commandsOver<any>({ db }, [...paymentCommands, ...codeCommands, ...accountClosureCommands])
  const run = async (...asked: Parameters<typeof report>) => (await report(...asked)).json

  it('find a payment, bring it up to date, show it and refund part of it', async () => {
    const row = await fixture.order(account.id)
    const id = publicId('payment', row.id)
    const { payments } = await run('payment list', [], { search: account.email, status: 'open' })
    expect(payments.map((one: { id: string }) => one.id)).to.deep.equal([id])
    await fixture.stripe.pay(row.session!)
    expect((await run('payment sync', [id])).payment.status).to.equal('paid')
    await run('payment refund', [id], { amount: '500' })
    const { payment, refunds } = await run('payment show', [id])
    expect(payment).to.include({ status: 'paid', reversed: 500, refundedMinor: 500 })
    expect(refunds).to.have.lengthOf(1)
    expect(await balanceOf(db, account.id)).to.equal(550)
  })

  it("compare with the provider's own list, credit what is paid there, and name what is in only one list", async () => {
    const known = await fixture.buy(account.id)
    const missed = await fixture.order(account.id)
    await fixture.stripe.pay(missed.session!)
    const tampered = await aPaidPayment(db, account.id)
    const stranger = await fixture.stripe.stripe.paymentIntents.create({
      amount: 700,
      currency: 'eur',
      payment_method: 'pm_card_visa',
      confirm: true,
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    })
    const day = 86_400_000
    const at = (days: number): string => new Date(Date.now() + days * day).toISOString()
    const months = { from: at(-1), to: at(1) }
    const { json, text, complaint } = await report('payment sync', [], months)
    expect(json.checked).to.be.at.least(2)
    expect(json.changed).to.equal(1)
    expect(await findPayment(db, missed.id)).to.include({ status: 'paid' })
    expect(json.missing).to.include(publicId('payment', tampered.id)).and.not.include(publicId('payment', known.id))
    expect(json.unknown).to.deep.include({ names: null, reference: stranger.id, currency: 'eur', amountMinor: 700 })
    expect(text).to.include(`unknown here: ${stranger.id}`)
    expect(complaint).to.match(/^The provider and the books differ in \d+ payments?\.$/)
    expect((await run('payment sync', [], months)).changed, 'a second time').to.equal(0)
    const before = await run('payment sync', [], { from: at(-9), to: at(-8) })
    expect(before).to.deep.equal({ checked: 0, changed: 0, missing: [], unknown: [] })
  })

  it('end a review, by granting or not', async () => {
    for (const how of ['grant', 'dismiss']) {
      const row = await fixture.order(account.id)
      await putToReview(db, row.id, 'amount')
      await run('payment resolve', [publicId('payment', row.id)], { [how]: 'yes' })
      expect(await balanceOf(db, account.id), how).to.equal(1050)
    }
  })

  it('make codes, list them and disable them', async () => {
    const { id, code } = await run('codes create', [], { credits: '9', uses: '2' })
    expect((await redeemCode(db, mailboxes, { userId: account.userId, accountId: account.id }, code)).balance).to.equal(
      9,
    )
    const { codes } = await run('codes list')
    expect(codes[0]).to.include({ id, credits: 9, uses: 1, maxUses: 2, disabledAt: null })
    expect((await run('codes disable', [id])).disabledAt).to.be.a('string')
  })

  it('forgive a debt', async () => {
    await fixture.buy(account.id)
    await verbs(db).settle(await opened(verbs(db), account, 1050), 'image', aResult(1060))
    expect(await debtOf(db, account.id)).to.equal(10)
    expect(await run('debt forgive', [account.email])).to.deep.equal({ forgiven: 10 })
    expect(await debtOf(db, account.id)).to.equal(0)
  })
})
