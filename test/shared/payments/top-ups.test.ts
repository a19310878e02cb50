import { expect } from 'chai'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import { NO_ANSWER, failOrder } from '../../../src/shared/payments/ending.ts'
import { findPayment, placeOrder } from '../../../src/shared/payments/orders.ts'
import { billingOf, changeSettings, noticeLowBalances } from '../../../src/shared/payments/settings.ts'
import { dueTopUps, topUp } from '../../../src/shared/payments/top-ups.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { aGrant, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { spent, verbs } from '../calls/opening.ts'
import type { PaymentFixture } from './fixture.ts'
import { SOLD, aBuyer, anOrder, autos, catalogue, mailsTo, paymentFixture } from './fixture.ts'

describe('automatic top-up', () => {
  let db: Db
  let fixture: PaymentFixture
  before(withinOneDay)
  before(async () => {
    const at = { DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 8 } as const
    // Where months begin 14 hours before those of UTC: a month is one of UTC, wherever the database is.
    const first = connectTestDb({ ...at, DATABASE_POOL: 2 })
    const { rows } = await first.raw<{ rows: { name: string }[] }>('SELECT current_database() AS name')
    await first.raw("ALTER DATABASE ?? SET timezone = 'Pacific/Kiritimati'", [rows[0]!.name])
    await first.destroy()
    db = connectTestDb(at)
    fixture = await paymentFixture(db)
  })
  afterEach(() => expectBooksToBalance(db))
  after(async () => {
    await fixture.stop()
    await db.destroy()
  })

  /** Lets the balance cross the threshold downwards, and the worker follow. */
  async function cross(account: TestAccount): Promise<void> {
    const missing = 600 - (await balanceOf(db, account.id))
    if (missing > 0) await aGrant(db, account.id, { amount: missing })
    await spent(verbs(db), account, (await balanceOf(db, account.id)) - 400)
    await topUp(fixture.deps, catalogue, account.id)
  }

  async function letCardBe(account: TestAccount, card: string): Promise<void> {
    const { method } = (await billingOf(db, account.id, false)).card!
    await fixture.stripe.control('POST', `cards/${method}`, { card })
  }

  it('charges the card once per crossing, whoever tries and whatever is spent below the threshold', async () => {
    const account = await aBuyer(fixture)
    const intents = (await fixture.stripe.list('payment_intent')).length
    await letCardBe(account, 'declined')
    await spent(verbs(db), account, 600)
    await Promise.all(Array.from({ length: 10 }, () => topUp(fixture.deps, catalogue, account.id)))
    await spent(verbs(db), account, 1)
    await topUp(fixture.deps, catalogue, account.id)
    expect(await autos(db, account.id)).to.deep.equal(['failed'])
    expect(await fixture.stripe.list('payment_intent')).to.have.lengthOf(intents + 1)
  })

  it('does not overtake the mail about the low balance, of which there is one per crossing', async () => {
    const account = await aBuyer(fixture)
    await changeSettings(db, account.id, { lowBalance: { threshold: 500 } }, false)
    const lowBalances = async () => (await mailsTo(db, account)).filter((kind) => kind === 'low_balance').length
    await cross(account)
    expect([await autos(db, account.id), await lowBalances()]).to.deep.equal([['paid'], 1])
    await noticeLowBalances(db, 200)
    expect(await lowBalances()).to.equal(1)
    await cross(account)
    expect([await autos(db, account.id), await lowBalances()]).to.deep.equal([['paid', 'paid'], 2])
  })

  it('has no mail about money sent to an address that was not verified', async () => {
    const account = await aBuyer(fixture)
    await db('users').where({ id: account.userId }).update({ email_verified_at: null })
    const before = await mailsTo(db, account)
    await changeSettings(db, account.id, { lowBalance: { threshold: 500 } }, false)
    await cross(account)
    await noticeLowBalances(db, 200)
    expect([await autos(db, account.id), await mailsTo(db, account)]).to.deep.equal([['paid'], before])
  })

  it('ends with three declines in a row, and a mail that says so', async () => {
    const account = await aBuyer(fixture)
    for (const card of ['declined', 'declined', 'card', 'declined', 'declined']) {
      await letCardBe(account, card)
      await cross(account)
    }
    expect(await autos(db, account.id)).to.deep.equal(['failed', 'failed', 'paid', 'failed', 'failed'])
    expect((await billingOf(db, account.id, false)).settings.autoTopUp, 'two in a row').not.to.equal(null)
    expect(await mailsTo(db, account)).not.to.include('top_up_off')
    await cross(account)
    expect((await billingOf(db, account.id, false)).settings.autoTopUp, 'three in a row').to.equal(null)
    expect((await mailsTo(db, account)).filter((kind) => kind === 'top_up_off')).to.have.lengthOf(1)
    await cross(account)
    expect(await autos(db, account.id)).to.have.lengthOf(6)
  })

  it('counts a decline where Stripe refuses, and none where it never answers', async () => {
    const account = await aBuyer(fixture)
    const declinesAfter = async (failure: string) => {
      const card = { customer: 'cus_1', method: 'pm_1' }
      const row = await db.transaction((trx) => placeOrder(trx, { ...anOrder(account.id), kind: 'auto', ...card }))
      await failOrder(db, row, failure)
      expect(await findPayment(db, row.id)).to.include({ status: 'failed', failure })
      return (await billingOf(db, account.id, false)).declines
    }
    expect(await declinesAfter('resource_missing')).to.equal(1)
    expect(await declinesAfter(NO_ANSWER)).to.equal(1)
  })

  const failureMails = async ({ email }: TestAccount) =>
    db('mails')
      .where({ recipient: email })
      .whereIn('kind', ['top_up_failed', 'top_up_off'])
      .orderBy('id')
      .select<{ kind: string; details: { failure: string; credits: number } }[]>('kind', 'details')

  /** Lets the hours pass after which a failed top-up is tried again, and the worker follow. */
  async function hoursLater(account: TestAccount): Promise<void> {
    await db('billing_settings')
      .where({ account_id: account.id })
      .update({ top_up_retry_at: db.raw("top_up_retry_at - interval '9 hours'") })
    if ((await dueTopUps(db, 200)).includes(account.id)) await topUp(fixture.deps, catalogue, account.id)
  }

  for (const [card, failure] of [
    ['no-funds', 'insufficient_funds'],
    ['later-authentication', 'authentication_required'],
  ] as const) {
    it(`says at its first decline (${failure}) that it failed, tries again hours later, and then ends`, async () => {
      const account = await aBuyer(fixture)
      await letCardBe(account, card)
      await cross(account)
      const balance = await balanceOf(db, account.id)
      const first = { kind: 'top_up_failed', details: { failure, credits: balance } }
      expect(await failureMails(account)).to.deep.equal([first])
      expect((await billingOf(db, account.id, false)).topUpFailure).to.include({ failure })
      await topUp(fixture.deps, catalogue, account.id)
      expect(await autos(db, account.id), 'before its time').to.deep.equal(['failed'])
      await hoursLater(account)
      expect(await autos(db, account.id)).to.deep.equal(['failed', 'failed'])
      expect(await failureMails(account), 'one for a row').to.deep.equal([first])
      await hoursLater(account)
      expect((await failureMails(account)).map(({ kind }) => kind)).to.deep.equal(['top_up_failed', 'top_up_off'])
      expect((await billingOf(db, account.id, false)).settings.autoTopUp).to.equal(null)
      await hoursLater(account)
      expect(await autos(db, account.id)).to.have.lengthOf(3)
    })
  }

  it('is not tried again once the balance has recovered, and counts as working once it was paid', async () => {
    const account = await aBuyer(fixture)
    await letCardBe(account, 'no-funds')
    await cross(account)
    await aGrant(db, account.id, { amount: 1000 })
    await hoursLater(account)
    expect(await autos(db, account.id)).to.deep.equal(['failed'])
    await letCardBe(account, 'card')
    await cross(account)
    expect(await autos(db, account.id)).to.deep.equal(['failed', 'paid'])
    expect(await billingOf(db, account.id, false)).to.deep.include({ declines: 0, topUpFailure: null })
    await letCardBe(account, 'declined')
    await cross(account)
    const due = ['insufficient_funds', 'generic_decline']
    expect((await failureMails(account)).map(({ details }) => details.failure)).to.deep.equal(due)
  })

  it('ends with a mail, and without a decline, where the provider no longer has the card or the customer', async () => {
    const gone = {
      card: async (account: TestAccount) => {
        const { card } = await billingOf(db, account.id, false)
        await fixture.stripe.stripe.paymentMethods.detach(card!.method)
      },
      customer: async (account: TestAccount) => {
        const { customer } = await billingOf(db, account.id, false)
        await fixture.stripe.stripe.customers.del(customer!)
      },
    }
    for (const remove of Object.values(gone)) {
      const account = await aBuyer(fixture)
      await remove(account)
      await cross(account)
      expect(await autos(db, account.id)).to.deep.equal(['failed'])
      expect((await failureMails(account)).map(({ kind }) => kind)).to.deep.equal(['top_up_off'])
      const billing = await billingOf(db, account.id, false)
      const due = [null, null, 'card_gone']
      expect([billing.card, billing.settings.autoTopUp, billing.topUpFailure?.failure]).to.deep.equal(due)
    }
  })

  it('charges no card of another mode, and says so', async () => {
    const account = await aBuyer(fixture)
    const intents = (await fixture.stripe.list('payment_intent')).length
    const live = { ...fixture.deps, provider: { ...fixture.deps.provider, liveMode: true } }
    await spent(verbs(db), account, 600)
    await topUp(live, catalogue, account.id)
    expect(await autos(db, account.id)).to.deep.equal([])
    expect(await fixture.stripe.list('payment_intent')).to.have.lengthOf(intents)
    expect((await failureMails(account)).map(({ kind }) => kind)).to.deep.equal(['top_up_failed'])
  })

  it('says that what it buys is no longer sold', async () => {
    const account = await aBuyer(fixture)
    await spent(verbs(db), account, 600)
    await topUp(fixture.deps, { ...catalogue, packs: [] }, account.id)
    expect((await failureMails(account)).map(({ details }) => details.failure)).to.deep.equal(['not_sold'])
  })

  it('says once a month that its cap is reached, and again for another cap', async () => {
    const account = await aBuyer(fixture, 1000)
    for (let crossing = 0; crossing < 3; crossing++) await cross(account)
    const caps = async () => (await failureMails(account)).filter(({ details }) => details.failure === 'monthly_cap')
    expect([await autos(db, account.id), (await caps()).length]).to.deep.equal([['paid'], 1])
    await db('billing_settings')
      .where({ account_id: account.id })
      .update({ top_up_failed_at: db.raw("now() - interval '32 days'") })
    await cross(account)
    await cross(account)
    expect(await caps(), 'another month').to.have.lengthOf(2)
    await changeSettings(db, account.id, { autoTopUp: { threshold: 500, pack: SOLD.id, monthlyCapMinor: 1500 } }, false)
    await cross(account)
    expect(await caps(), 'another cap').to.have.lengthOf(3)
  })

  it('keeps its monthly cap (UTC), and continues in the next month', async () => {
    const account = await aBuyer(fixture, 2000)
    for (let crossing = 0; crossing < 3; crossing++) await cross(account)
    expect(await autos(db, account.id)).to.deep.equal(['paid', 'paid'])
    expect(await balanceOf(db, account.id)).to.equal(400)
    /** Moves the first top-up to so many microseconds after the start of this month of UTC. */
    const move = async (microseconds: number) => {
      const [first] = await db('payments').where({ account_id: account.id, kind: 'auto' }).orderBy('id').pluck('id')
      const start = "date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
      await db('payments')
        .where({ id: first })
        .update({ created_at: db.raw(`${start} + ? * interval '1 microsecond'`, [microseconds]) })
    }
    await move(0)
    await cross(account)
    expect(await autos(db, account.id), 'the first moment of the month').to.have.lengthOf(2)
    await move(-1)
    await cross(account)
    expect(await autos(db, account.id), 'the last moment of the month before').to.deep.equal(['paid', 'paid', 'paid'])
  })
})
