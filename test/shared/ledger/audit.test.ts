import { expect } from 'chai'
import { setLimitsOf } from '../../../src/shared/identity/account-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { setMemberBudget } from '../../../src/shared/identity/member-changes.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { chatCost } from '../../../src/shared/terms/pricing.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { audit, auditActive } from '../../../src/shared/ledger/audit.ts'
import { deduct } from '../../../src/shared/ledger/deductions.ts'
import { anAccount, mailboxes } from '../../../scripts/harness/factories.ts'
import { createCode, redeemCode } from '../../../src/shared/payments/codes.ts'
import { FALSIFICATIONS } from './falsifications.ts'
import type { Scene } from './falsification.ts'
import { aResult, opened, verbs } from '../calls/opening.ts'
import { aPaidPayment } from '../payments/fixture.ts'
import { useDb } from '../../support/database.ts'

/** The price of the chat, in which each count has its own. */
const PRICE = { input: 5, cachedInput: 1, cacheWrite: 7, output: 20, perCall: 2, perTokens: 100, minimum: 1 }

describe('the audit', () => {
  // A database of its own: what is falsified here would be a breach for other tests.
  const db = useDb({ isOwn: true })
  let scene: Scene
  before(async () => {
    // Check constraints prevent most of this, so they are dropped here, as a careless operator might.
    await db.raw(`
      DO $$ DECLARE drop_one text; BEGIN
        FOR drop_one IN SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname)
          FROM pg_constraint WHERE contype = 'c' AND conrelid IN ('accounts'::regclass, 'calls'::regclass)
        LOOP EXECUTE drop_one; END LOOP;
      END $$;
      ALTER DOMAIN credits DROP CONSTRAINT credits_not_negative`)
  })

  beforeEach(async () => {
    const calls = verbs(db)
    const account = await anAccount(db, [{ amount: 60, days: 3 }, { amount: 60 }])
    const { id: payment } = await aPaidPayment(db, account.id)
    const terms = { credits: 5, maxUses: 2, expiresAt: null, creditsExpireAt: null, note: null }
    const { code, made } = await createCode(db, null, terms)
    await redeemCode(db, mailboxes, { userId: account.userId, accountId: account.id }, code)
    await db.transaction((trx) => setLimitsOf(trx, account.id, { tokensPerMinute: 1000 }))
    await changeKey(db, account.keyId, { tokensPerMinute: 1000 })
    const estimate = { input: 100, output: 5 }
    const chat = await opened(calls, account, 9, { modality: 'chat', price: PRICE, estimate })
    const tokens = { input: 10, cached: 100, written: 20, output: 3, inputAgain: 5 }
    await calls.settle(chat, 'chat', { ...aResult(chatCost(PRICE, tokens)), tokens })
    await changeKey(db, account.keyId, { maxOutstanding: 10, budget: { credits: 100, period: 'total' } })
    const member = { userId: account.userId, accountId: account.id }
    await db.transaction((trx) => setMemberBudget(trx, member, { credits: 200, period: 'total' }))
    const [settled, refunded, open] = [
      await opened(calls, account, 30),
      await opened(calls, account, 20),
      await opened(calls, account, 10),
    ]
    const taken = { accountId: account.id, amount: 2, mayOwe: false, reason: 'a test', key: null }
    await db.transaction((trx) => deduct(trx, { id: newId('deduction'), ...taken }))
    await calls.settle(settled, 'image', aResult(25))
    await calls.refund(refunded, gatewayError('upstream_failed'))
    scene = { account, settled, refunded, open, chat, payment, code: parseId('code', made.id)! }
  })

  /** Changes rows as only a superuser can: triggers and foreign keys are off. */
  async function falsify(sql: string, bindings: unknown[]): Promise<void> {
    await db.transaction(async (trx) => {
      await trx.raw('SET LOCAL session_replication_role = replica')
      await trx.raw(sql, bindings as string[])
    })
  }

  const budgetsOf = async (accountId: AccountId): Promise<string[]> =>
    await db('budgets').where({ account_id: accountId }).pluck<string[]>('id')

  /** The invariants that this account breaks, by the audit. */
  async function broken(look = audit): Promise<string[]> {
    const { breaches } = await look(db)
    const mine = [
      scene.account.id,
      scene.account.keyId,
      ...(await budgetsOf(scene.account.id)),
      ...scene.account.grants,
      scene.settled,
      scene.refunded,
      scene.open,
      scene.chat,
      scene.payment,
      scene.code,
    ] as string[]
    return breaches
      .filter(({ row }) => Object.values(row).some((value) => mine.includes(value as string)))
      .map(({ invariant }) => invariant)
  }

  it('finds nothing in correct books, and reports what it checked', async () => {
    const { checked } = await audit(db)
    expect(await broken()).to.deep.equal([])
    expect(checked.accounts).to.be.at.least(1)
    expect(Object.keys(checked)).to.deep.equal(['accounts', 'grants', 'ledger_entries', 'calls', 'budgets', 'payments'])
  })

  for (const [title, sql, of, invariants] of FALSIFICATIONS) {
    it(`names ${title}`, async () => {
      // The other account, with the grant of one of the cases.
      if (/<>/.test(sql)) await anAccount(db, 1)
      await falsify(sql, of(scene))
      expect(await broken()).to.include.members(invariants)
      expect(await broken((of) => auditActive(of, 10_000))).to.include.members(invariants)
    })
  }

  it('of active accounts reads no more entries than it may', async () => {
    const { checked } = await auditActive(db, 20)
    expect(checked.ledger_entries).to.be.within(1, 20)
    expect(checked.accounts).to.be.at.least(1)
  })

  it('does not report calls in flight as breaches', async () => {
    const calls = verbs(db)
    const account = await anAccount(db, 1000)
    let running = true
    const traffic = (async () => {
      while (running)
        await calls.settle(await opened(calls, account, 2), 'image', aResult(newId('call').endsWith('0') ? 5 : 1))
    })()
    for (let round = 0; round < 10; round++) {
      const { breaches } = await audit(db)
      const found = breaches.filter(({ row }) => row.account_id === account.id || row.grant_id === account.grants[0])
      expect(found).to.deep.equal([])
    }
    running = false
    await traffic
  })
})
