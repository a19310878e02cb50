import { expect } from 'chai'
import type { Catalogue } from '../../../src/shared/catalogue/catalogue.ts'
import type { Db } from '../../../src/shared/infra/db.ts'
import type { AccountId } from '../../../src/shared/ids.ts'
import { NO_ANSWER, failOrder } from '../../../src/shared/payments/ending.ts'
import type { PaymentStatus } from '../../../src/shared/payments/orders.ts'
import { findPayment, placeOrder } from '../../../src/shared/payments/orders.ts'
import { billingOf, changeSettings, noticeLowBalances } from '../../../src/shared/payments/settings.ts'
import { topUp } from '../../../src/shared/payments/top-ups.ts'
import { connectTestDb, newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { aGrant, anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { opened, verbs } from '../calls/opening.ts'
import type { PaymentWorld } from './world.ts'
import { anOrder, paymentWorld } from './world.ts'

const PACK = { id: 'starter', currency: 'eur', amountMinor: 1000, credits: 1000, bonus: 50 }
const catalogue = { packs: [PACK], topUp: null } as unknown as Catalogue

describe('automatic top-up', () => {
  let db: Db
  let world: PaymentWorld
  before(async () => {
    const at = { DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 8 } as const
    // Where months begin 14 hours before those of UTC: a month is one of UTC, wherever the database is.
    const first = connectTestDb({ ...at, DATABASE_POOL: 2 })
    const { rows } = await first.raw<{ rows: { name: string }[] }>('SELECT current_database() AS name')
    await first.raw("ALTER DATABASE ?? SET timezone = 'Pacific/Kiritimati'", [rows[0]!.name])
    await first.destroy()
    db = connectTestDb(at)
    world = await paymentWorld(db)
  })
  after(async () => {
    await world.stop()
    await db.destroy()
  })
  afterEach(() => expectBooksToBalance(db))

  /** An account with 1,050 credits and a card, which is topped up below 500. */
  async function aBuyer(monthlyCapMinor = 100_000): Promise<TestAccount> {
    const account = await anAccount(db)
    await world.buy(account.id, undefined, true)
    await changeSettings(db, account.id, { autoTopUp: { threshold: 500, pack: PACK.id, monthlyCapMinor } })
    return account
  }

  /** Lets the balance cross the threshold downwards, and the worker follow. */
  async function cross(account: TestAccount): Promise<void> {
    const missing = 600 - (await balanceOf(db, account.id))
    if (missing > 0) await aGrant(db, account.id, { amount: missing })
    await opened(verbs(db), account, (await balanceOf(db, account.id)) - 400)
    await topUp(world.deps, catalogue, account.id)
  }

  const autos = (id: AccountId): Promise<PaymentStatus[]> =>
    db('payments').where({ account_id: id, kind: 'auto' }).orderBy('id').pluck<PaymentStatus[]>('status')

  const mailsTo = ({ email }: TestAccount): Promise<string[]> =>
    db('mails').where({ recipient: email }).orderBy('id').pluck<string[]>('kind')

  async function letCardBe(account: TestAccount, card: string): Promise<void> {
    const { method } = (await billingOf(db, account.id)).card!
    await world.stripe.control('POST', `cards/${method}`, { card })
  }

  it('charges the card once per crossing, whoever tries and whatever is spent below the threshold', async () => {
    const account = await aBuyer()
    const intents = (await world.stripe.list('payment_intent')).length
    await letCardBe(account, 'declined')
    await opened(verbs(db), account, 600)
    await Promise.all(Array.from({ length: 10 }, () => topUp(world.deps, catalogue, account.id)))
    await opened(verbs(db), account, 1)
    await topUp(world.deps, catalogue, account.id)
    expect(await autos(account.id)).to.deep.equal(['failed'])
    expect(await world.stripe.list('payment_intent')).to.have.lengthOf(intents + 1)
  })

  it('does not overtake the mail about the low balance, of which there is one per crossing', async () => {
    const account = await aBuyer()
    await changeSettings(db, account.id, { lowBalance: { threshold: 500 } })
    const lowBalances = async () => (await mailsTo(account)).filter((kind) => kind === 'low_balance').length
    await cross(account)
    expect([await autos(account.id), await lowBalances()]).to.deep.equal([['paid'], 1])
    await noticeLowBalances(db, 200)
    expect(await lowBalances()).to.equal(1)
    await cross(account)
    expect([await autos(account.id), await lowBalances()]).to.deep.equal([['paid', 'paid'], 2])
  })

  it('ends with three declines in a row, and a mail that says so', async () => {
    const account = await aBuyer()
    for (const card of ['declined', 'declined', 'card', 'declined', 'declined']) {
      await letCardBe(account, card)
      await cross(account)
    }
    expect(await autos(account.id)).to.deep.equal(['failed', 'failed', 'paid', 'failed', 'failed'])
    expect((await billingOf(db, account.id)).settings.autoTopUp, 'two in a row').not.to.equal(null)
    expect(await mailsTo(account)).not.to.include('top_up_off')
    await cross(account)
    expect((await billingOf(db, account.id)).settings.autoTopUp, 'three in a row').to.equal(null)
    expect((await mailsTo(account)).filter((kind) => kind === 'top_up_off')).to.have.lengthOf(1)
    await cross(account)
    expect(await autos(account.id)).to.have.lengthOf(6)
  })

  it('counts a decline where Stripe refuses, and none where it never answers', async () => {
    const account = await aBuyer()
    const declinesAfter = async (failure: string) => {
      const card = { customer: 'cus_1', method: 'pm_1' }
      const row = await db.transaction((trx) => placeOrder(trx, { ...anOrder(account.id), kind: 'auto', ...card }))
      await failOrder(db, row, failure)
      expect(await findPayment(db, row.id)).to.include({ status: 'failed', failure })
      return (await billingOf(db, account.id)).declines
    }
    expect(await declinesAfter('resource_missing')).to.equal(1)
    expect(await declinesAfter(NO_ANSWER)).to.equal(1)
  })

  it('keeps its monthly cap (UTC), and continues in the next month', async () => {
    await withinOneDay()
    const account = await aBuyer(2000)
    for (let crossing = 0; crossing < 3; crossing++) await cross(account)
    expect(await autos(account.id)).to.deep.equal(['paid', 'paid'])
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
    expect(await autos(account.id), 'the first moment of the month').to.have.lengthOf(2)
    await move(-1)
    await cross(account)
    expect(await autos(account.id), 'the last moment of the month before').to.deep.equal(['paid', 'paid', 'paid'])
  })
})
