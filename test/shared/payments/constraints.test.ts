import { expect } from 'chai'
import type { Db, Trx } from '../../../src/shared/platform/postgres/db.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { NewGrant } from '../../../src/shared/ledger/ledger.ts'
import { grant } from '../../../src/shared/ledger/ledger.ts'
import { grantOrdered } from '../../../src/shared/payments/apply.ts'
import { createCode, redeemCode } from '../../../src/shared/payments/codes.ts'
import type { PaymentRow } from '../../../src/shared/payments/orders.ts'
import { placeOrder } from '../../../src/shared/payments/orders.ts'
import { connectTestDb, testDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount, mailboxes } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { PACK, aPaidPayment, anOrder } from './fixture.ts'

/** What each case tries to change; all of it is as it should be. */
type Scene = {
  account: TestAccount
  other: TestAccount
  ordered: PaymentRow
  paid: PaymentRow
  auto: PaymentRow
}

describe('the tables of payments', () => {
  let db: Db
  let scene: Scene
  before(async () => {
    db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const [account, other] = [await anAccount(db), await anAccount(db)]
    const terms = { credits: 5, maxUses: 1, expiresAt: null, creditsExpireAt: null, note: null }
    const { code } = await createCode(db, null, terms)
    await redeemCode(db, mailboxes, { userId: account.userId, accountId: account.id }, code)
    scene = {
      account,
      other,
      ordered: await placeOrder(db, anOrder(account.id)),
      paid: await aPaidPayment(db, account.id),
      auto: await placeOrder(db, { ...anOrder(account.id), kind: 'auto', method: 'pm_1' }),
    }
  })
  after(async () => {
    await expectBooksToBalance(db)
    await db.destroy()
  })

  const PAID = (trx: Trx) => ({ status: 'paid', paid_at: trx.fn.now() })

  /** Tries something that must be impossible. Returns the constraint that refused it, or its words. */
  async function refusal(work: (trx: Trx, it: Scene) => Promise<unknown>): Promise<string> {
    try {
      await db.transaction(async (trx) => {
        await work(trx, scene)
        await trx.raw('SET CONSTRAINTS ALL IMMEDIATE')
        throw new Error('was taken')
      })
    } catch (error) {
      const { constraint, message } = error as { constraint?: string; message: string }
      return constraint ?? message
    }
    throw new Error('unreachable')
  }

  const change = (row: PaymentRow, changes: object) => (trx: Trx) =>
    trx('payments').where({ id: row.id }).update(changes)
  const changing = (which: 'ordered' | 'paid', changes: object) => (trx: Trx, it: Scene) =>
    change(it[which], changes)(trx)
  const reversing = (credits: number, more: object) => (trx: Trx, it: Scene) =>
    trx('payment_reversals').insert({ ...reversal(it.paid, credits), ...more })

  const granted = (trx: Trx, { id: paymentId, account_id: accountId }: PaymentRow, given: Partial<NewGrant>) =>
    grant(trx, { id: newId('grant'), accountId, origin: 'purchase', amount: PACK.credits, paymentId, ...given })

  const reversal = ({ id, account_id }: PaymentRow, credits: number) => ({
    payment_id: id,
    nth: 1,
    account_id,
    credits,
    moved: credits,
    owed: 0,
    elsewhere: 0,
    refunded_minor: 0,
    disputed_minor: 0,
  })

  const REFUSED: [title: string, work: (trx: Trx, it: Scene) => Promise<unknown>, by: string][] = [
    ['a second grant of a payment', (trx, it) => granted(trx, it.paid, {}), 'grants_once_per_payment'],
    ['a grant of a payment that is not paid', (trx, it) => granted(trx, it.ordered, {}), 'payments_match_grants'],
    [
      "another account's grant of a payment",
      (trx, it) => granted(trx, it.ordered, { accountId: it.other.id }),
      'grants_payment_fkey',
    ],
    [
      'a paid payment that grants one credit more than was ordered',
      async (trx, it) => {
        await change(it.ordered, PAID(trx))(trx)
        await grantOrdered(trx, { ...it.ordered, credits: PACK.credits + 1 })
      },
      'payments_match_grants',
    ],
    [
      'a paid payment without its bonus',
      async (trx, it) => {
        await change(it.ordered, PAID(trx))(trx)
        await granted(trx, it.ordered, {})
      },
      'payments_match_grants',
    ],
    [
      'a grant of a payment that is made larger',
      (trx, it) => trx('grants').where({ payment_id: it.paid.id, origin: 'purchase' }).increment('amount', 1),
      'payments_match_grants',
    ],
    [
      'a grant that is given another payment',
      (trx, it) => trx('grants').where({ payment_id: it.paid.id }).update({ payment_id: it.ordered.id }),
      'payments_match_grants',
    ],
    [
      'a paid payment whose grants are deleted',
      async (trx, { ordered: { id, account_id } }) => {
        const given = { account_id, payment_id: id, open: true }
        await trx('payments')
          .where({ id })
          .update({ ...PAID(trx), session: `cs_${id}` })
        await trx('grants').insert([
          { ...given, id: newId('grant'), origin: 'purchase', amount: PACK.credits, remaining: PACK.credits },
          { ...given, id: newId('grant'), origin: 'bonus', amount: PACK.bonus, remaining: PACK.bonus },
        ])
        await trx.raw('SET CONSTRAINTS ALL IMMEDIATE')
        await trx('grants').where({ payment_id: id }).delete()
      },
      'payments_match_grants',
    ],
    [
      'more reversed than was granted',
      changing('paid', { reversed: PACK.credits + PACK.bonus + 1 }),
      'payments_reversed_within',
    ],
    ['less than nothing reversed', changing('paid', { reversed: -1 }), 'credits_not_negative'],
    ['credits reversed of what was never paid', changing('ordered', { reversed: 1 }), 'payments_reversed_was_paid'],
    ['a reversal that its payment does not count', reversing(1, {}), 'payments_match_grants'],
    ['a reversal that is not the sum of its parts', reversing(2, { owed: 1 }), 'payment_reversals_parts'],
    [
      'a reversal that takes and gives at once',
      reversing(2, { moved: 3, owed: -1 }),
      'payment_reversals_one_direction',
    ],
    ['a change of a reversal', (trx) => trx('payment_reversals').update({ owed: 0 }), 'append-only'],
    ['a deletion of forgiven debts', (trx) => trx('forgiven_debts').delete(), 'append-only'],
    ['paid without a time', changing('ordered', { status: 'paid' }), 'payments_paid_has_time'],
    ['a review without a reason', changing('ordered', { status: 'review' }), 'payments_review_has_reason'],
    [
      'an open order that its provider does not know',
      changing('ordered', { status: 'open' }),
      'payments_open_is_known_there',
    ],
    [
      'more refunded than was paid',
      changing('paid', { refunded_minor: PACK.amount_minor + 1 }),
      'payments_refunded_within',
    ],
    [
      'more disputed than was paid',
      changing('paid', { disputed_minor: PACK.amount_minor + 1 }),
      'payments_disputed_within',
    ],
    [
      'two open automatic payments of an account',
      (trx, it) => placeOrder(trx, { ...anOrder(it.account.id), kind: 'auto', method: 'pm_2' }),
      'payments_one_auto',
    ],
    [
      'an automatic payment without a card',
      (trx, it) => placeOrder(trx, { ...anOrder(it.other.id), kind: 'auto' }),
      'payments_auto_has_card',
    ],
    [
      'one checkout for two orders',
      (trx, it) => change(it.ordered, { session: it.paid.session })(trx),
      'payments_session_key',
    ],
    [
      'one payment of the provider for two orders',
      (trx, it) => change(it.ordered, { intent: it.paid.intent })(trx),
      'payments_intent_key',
    ],
    [
      'more uses of a code than it has',
      (trx, it) =>
        trx('redemption_codes')
          .whereIn('id', trx('redemptions').where({ account_id: it.account.id }).select('code_id'))
          .increment('uses', 1),
      'redemption_codes_uses_at_most_max',
    ],
    [
      'a second redemption of a code by one account',
      async (trx, it) => {
        const [first] = await trx('redemptions').where({ account_id: it.account.id })
        const given = { id: newId('grant'), accountId: it.account.id, origin: 'bonus', amount: 5 } as const
        await grant(trx, given)
        await trx('redemptions').insert({ ...first, grant_id: given.id })
      },
      'redemptions_pkey',
    ],
    [
      'one grant for two redemptions',
      async (trx, it) => {
        const [first] = await trx('redemptions').where({ account_id: it.account.id })
        await trx('redemptions').insert({ ...first, account_id: it.other.id })
      },
      'redemptions_grant_key',
    ],
    [
      'automatic top-up without a card',
      (trx, it) =>
        trx('billing_settings').insert({
          account_id: it.other.id,
          top_up_pack: 'starter',
          top_up_monthly_cap_minor: 1000,
        }),
      'billing_settings_top_up_whole',
    ],
  ]
  for (const [title, work, by] of REFUSED) {
    it(`refuse ${title}`, async () => expect(await refusal(work)).to.include(by))
  }

  it('keep the terms of an order, and what was paid', async () => {
    const terms = {
      account_id: scene.other.id,
      kind: 'auto',
      live_mode: true,
      pack: 'another',
      currency: 'usd',
      amount_minor: 1,
      credits: PACK.credits + 1,
      bonus: 0,
      id: newId('payment'),
    }
    for (const [column, value] of Object.entries(terms))
      expect(await refusal(change(scene.ordered, { [column]: value })), column).to.equal('payments_terms_stand')
    const found = { session: 'cs_2', intent: 'pi_2', status: 'failed' }
    for (const [column, value] of Object.entries({ ...found, credits: 1 }))
      expect(await refusal(change(scene.paid, { [column]: value })), column).to.equal('payments_terms_stand')
    for (const column of ['session', 'intent'])
      expect(await refusal(change(scene.paid, { [column]: null })), column).to.equal('payments_terms_stand')
  })
})
