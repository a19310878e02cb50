import { expect } from 'chai'
import { totalsOfAccounts } from '../../../src/shared/identity/accounts.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId, publicId } from '../../../src/shared/platform/ids.ts'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import { givenSince } from '../../../src/shared/ledger/sums.ts'
import { noteOpening } from '../../../src/shared/operators/upstreams.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import { aResult, callIdAt, opened, verbs } from '../../shared/calls/opening.ts'
import { useConsole, useOperator } from '../../support/console.ts'

describe('/api/operator/overview', () => {
  // A database of its own: its figures are of everybody.
  const web = useConsole({}, { hasOwnDatabase: true })
  const operator = useOperator(web)

  it('adds up what was sold and used in a day, what is owed and outstanding, and who used most', async () => {
    const calls = verbs(web.db)
    const buyer = await anAccount(web.db, 100)
    const debtor = await anAccount(web.db, [{ amount: 30, origin: 'bonus' }])
    await calls.settle(await opened(calls, buyer, 40), 'image', aResult(40))
    await calls.refund(await opened(calls, buyer, 10), gatewayError('upstream_failed'))
    await calls.settle(await opened(calls, debtor, 30), 'image', aResult(37))
    const old = await opened(calls, buyer, 5, { id: callIdAt(new Date(Date.now() - 25 * 3_600_000)) })
    await calls.settle(old, 'image', aResult(5))

    const { status, json } = await web.get('/api/operator/overview', operator.token)
    expect(status).to.equal(200)
    expect(json.lastDay).to.deep.include({ calls: 3, failed: 1, refused: 0, credits: 70, accounts: 2 })
    expect(json.lastDay.topAccounts).to.deep.equal([
      { accountId: publicId('account', buyer.id), email: buyer.email, name: '', ...tally(2, 1, 40) },
      { accountId: publicId('account', debtor.id), email: debtor.email, name: '', ...tally(1, 0, 30) },
    ])
    expect(json.lastDay.topModels).to.have.lengthOf(1)
    expect(json.sold.lastDay).to.deep.equal({ sold: 100, paid: 0, given: 30, takenBack: 0 })
    expect(json.accounts).to.deep.include({ accounts: 3, opened: 3, outstanding: 55, owed: 7 })
    expect(json.queues.find(({ queue }: { queue: string }) => queue === 'image')).to.include({ failed: 1, waiting: 0 })
  })

  it('tells credits that were paid for from those that were granted as a purchase', async () => {
    const before = await givenSince(web.db, 1)
    const buyer = await anAccount(web.db, 30)
    await web.db.transaction(async (trx) => {
      const paymentId = newId('payment')
      await trx('payments').insert({
        id: paymentId,
        account_id: buyer.id,
        provider: 'stripe',
        kind: 'checkout',
        live_mode: false,
        currency: 'eur',
        amount_minor: 500,
        credits: 50,
        status: 'paid',
        paid_at: trx.fn.now(),
      })
      await grant(trx, { id: newId('grant'), accountId: buyer.id, origin: 'purchase', amount: 50, paymentId })
    })
    const { sold, paid } = await givenSince(web.db, 1)
    expect({ sold: sold - before.sold, paid: paid - before.paid }).to.deep.equal({ sold: 80, paid: 50 })
  })

  it('counts no further than JavaScript does exactly', async () => {
    const [one, other] = [await anAccount(web.db), await anAccount(web.db)]
    const most = { credits: String(Number.MAX_SAFE_INTEGER) }
    await web.db('accounts').whereIn('id', [one.id, other.id]).update(most)
    expect((await totalsOfAccounts(web.db)).outstanding).to.equal(Number.MAX_SAFE_INTEGER)
    await web.db('accounts').whereIn('id', [one.id, other.id]).update({ credits: 0 })
  })

  it("shows a day of each upstream hour by hour, and its circuits' openings, a row a minute", async () => {
    for (let times = 0; times < 3; times++) await noteOpening(web.db, 'broken')
    await web.db('circuit_openings').insert({ upstream: 'long-ago', minute: daysAgo(8), openings: 1 })
    await noteOpening(web.db, 'broken')
    expect(await web.db('circuit_openings').where({ upstream: 'long-ago' })).to.deep.equal([])
    const { json } = await web.get('/api/operator/upstreams', operator.token)
    const broken = json.data.find(({ upstream }: { upstream: string }) => upstream === 'broken')
    const openings = broken.hours.map((hour: { openings: number }) => hour.openings)
    expect(openings).to.have.lengthOf(24)
    expect(openings.reduce((sum: number, one: number) => sum + one, 0)).to.equal(4)
    expect(broken.openedAt).to.be.a('string')
  })

  const tally = (calls: number, failed: number, credits: number) => ({ calls, failed, refused: 0, credits })
  const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000)
})
