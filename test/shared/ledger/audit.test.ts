import { expect } from 'chai'
import { changeKey } from '../../../src/shared/accounts/key-limits.ts'
import { connectDb } from '../../../src/shared/infra/db.ts'
import type { Db } from '../../../src/shared/infra/db.ts'
import { gatewayError } from '../../../src/shared/errors.ts'
import { newId, parseId } from '../../../src/shared/ids.ts'
import { chatCost } from '../../../src/shared/calls/pricing.ts'
import type { CallId, KeyId, PaymentId } from '../../../src/shared/ids.ts'
import { audit, auditActive } from '../../../src/shared/ledger/audit.ts'
import { newDatabaseUrl } from '../../../scripts/harness/database.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { createCode, redeemCode } from '../../../src/shared/payments/codes.ts'
import { aResult, opened, verbs } from '../calls/opening.ts'
import { aPaidPayment } from '../payments/world.ts'

/** The price of the chat, in which each count has its own. */
const PRICE = { input: 5, cachedInput: 1, cacheWrite: 7, output: 20, perCall: 2, perTokens: 100, minimum: 1 }

/** An account's calls (a settled one, a refunded one, one that runs, a chat), its payment and the code it redeemed. */
type Scene = {
  account: TestAccount
  settled: CallId
  refunded: CallId
  open: CallId
  chat: CallId
  payment: PaymentId
  code: string
}

describe('the audit', () => {
  // A database of its own: what is falsified here would be a breach for other tests.
  let db: Db
  let scene: Scene
  before(async () => {
    db = connectDb({ DATABASE_URL: await newDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 4 })
    // Check constraints prevent most of this, so they are dropped here, as a careless operator might.
    for (const [table, constraint] of [
      ['accounts', 'accounts_credits_not_negative'],
      ['calls', 'calls_failed_cost_nothing'],
      ['calls', 'calls_ended_are_complete'],
    ])
      await db.raw('ALTER TABLE ?? DROP CONSTRAINT ??', [table!, constraint!])
  })
  after(() => db.destroy())

  beforeEach(async () => {
    const calls = verbs(db)
    const account = await anAccount(db, [{ amount: 60, days: 3 }, { amount: 60 }])
    const { id: payment } = await aPaidPayment(db, account.id)
    const lot = { credits: 5, maxUses: 2, expiresAt: null, creditsExpireAt: null, note: null }
    const { code, made } = await createCode(db, null, lot)
    await redeemCode(db, account.id, code)
    const chat = await opened(calls, account, 9, { modality: 'chat', price: PRICE })
    const tokens = { input: 10, cached: 100, written: 20, output: 3, inputAgain: 5 }
    await calls.settle(chat, 'chat', { ...aResult(chatCost(PRICE, tokens)), tokens })
    await changeKey(db, account.keyId, { maxOutstanding: 10, budget: { credits: 100, period: 'total' } })
    const [settled, refunded, open] = [
      await opened(calls, account, 30),
      await opened(calls, account, 20),
      await opened(calls, account, 10),
    ]
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

  const budgetOf = async (keyId: KeyId): Promise<string> =>
    (await db('budgets').where({ key_id: keyId }).first<{ id: string }>('id')).id

  /** The invariants that this account breaks, by the audit. */
  async function broken(look = audit): Promise<string[]> {
    const { breaches } = await look(db)
    const mine = [
      scene.account.id,
      scene.account.keyId,
      await budgetOf(scene.account.keyId),
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

  const FALSIFICATIONS: [title: string, sql: string, of: (it: Scene) => unknown[], invariants: string[]][] = [
    [
      'a balance that was raised',
      'UPDATE accounts SET credits = credits + 1 WHERE id = ?',
      (it) => [it.account.id],
      ["a balance is the sum of its account's entries", "a balance is the sum of its grants' remainders"],
    ],
    [
      'a balance below zero',
      'UPDATE accounts SET credits = -5 WHERE id = ?',
      (it) => [it.account.id],
      ['no balance, no debt and no remainder is negative'],
    ],
    [
      'a remainder that was raised',
      'UPDATE grants SET remaining = remaining + 1 WHERE id = ?',
      (it) => [it.account.grants[0]],
      ["a grant's remainder is the sum of its entries", "a balance is the sum of its grants' remainders"],
    ],
    [
      'a grant that was made larger',
      'UPDATE grants SET amount = amount + 1 WHERE id = ?',
      (it) => [it.account.grants[0]],
      ['a grant has exactly one grant entry, of its amount'],
    ],
    [
      'an entry whose amount was changed',
      "UPDATE ledger_entries SET amount = amount - 1 WHERE call_id = ? AND kind = 'charge'",
      (it) => [it.settled],
      [
        "a call's entries add up to its credits",
        "a call's charge entries add up to its pre-charge",
        'entries are numbered without gaps, and balanceAfter follows from the entry before',
      ],
    ],
    [
      'an entry that was deleted',
      "DELETE FROM ledger_entries WHERE call_id = ? AND kind = 'refund'",
      (it) => [it.refunded],
      ["a call's entries add up to its credits", "an account's number of entries is its newest entry's"],
    ],
    [
      'a balanceAfter that was changed',
      'UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE account_id = ? AND seq = 2',
      (it) => [it.account.id],
      ['entries are numbered without gaps, and balanceAfter follows from the entry before'],
    ],
    [
      'a call whose credits were lowered',
      'UPDATE calls SET credits = credits - 1 WHERE id = ?',
      (it) => [it.settled],
      ["a call's entries add up to its credits"],
    ],
    [
      'a failed call that was made to succeed',
      "UPDATE calls SET status = 'succeeded', error_type = NULL WHERE id = ?",
      (it) => [it.refunded],
      ['only a failed call is refunded, and only a succeeded one settled'],
    ],
    [
      'a settled call that was made to fail',
      "UPDATE calls SET status = 'failed', error_type = 'upstream_failed' WHERE id = ?",
      (it) => [it.settled],
      [
        'only a failed call is refunded, and only a succeeded one settled',
        'a call that ended has its end, and a failed one costs nothing',
      ],
    ],
    [
      'a refund that was moved to another lot',
      "UPDATE ledger_entries SET grant_id = ? WHERE call_id = ? AND kind = 'refund'",
      (it) => [it.account.grants[1], it.refunded],
      ['no call gives a grant more than it took from it', "a grant's remainder is the sum of its entries"],
    ],
    [
      "an entry over another account's lot",
      `UPDATE ledger_entries SET grant_id = (SELECT id FROM grants WHERE account_id <> ? LIMIT 1)
       WHERE call_id = ? AND kind = 'charge'`,
      (it) => [it.account.id, it.settled],
      ['a call and its grants belong to the account of its entries'],
    ],
    [
      "a budget's use that was lowered",
      'UPDATE budget_windows SET used = used - 1 WHERE budget_id = (SELECT id FROM budgets WHERE key_id = ?)',
      (it) => [it.account.keyId],
      ['what was used of a budget is what the calls of its key in that window cost'],
    ],
    [
      "a budget's window that was deleted",
      'DELETE FROM budget_windows WHERE budget_id = (SELECT id FROM budgets WHERE key_id = ?)',
      (it) => [it.account.keyId],
      ['every call of a key is counted since it has a budget'],
    ],
    [
      "a key's outstanding calls that were raised",
      'UPDATE api_keys SET outstanding_calls = outstanding_calls + 1 WHERE id = ?',
      (it) => [it.account.keyId],
      ["a key's outstanding calls are its open calls, where they are limited"],
    ],
    [
      'an account that hides its limited key',
      'UPDATE accounts SET keys_limited = false WHERE id = ?',
      (it) => [it.account.id],
      ['an account with a limited key says so'],
    ],
    [
      'an open call with an end',
      'UPDATE calls SET finished_at = now() WHERE id = ?',
      (it) => [it.open],
      ['a call that ended has its end, and a failed one costs nothing'],
    ],
    [
      'a chat that cost something else',
      'UPDATE calls SET cached_input_tokens = 0 WHERE id = ?',
      (it) => [it.chat],
      ['a chat costs what its price says of its tokens'],
    ],
    [
      'a call with the price of today',
      `UPDATE calls SET price = jsonb_set(price, '{input}', '600') WHERE id = ?`,
      (it) => [it.chat],
      ['a call has the price of its version', 'a chat costs what its price says of its tokens'],
    ],
    [
      'a call with a version that nobody knows',
      'UPDATE calls SET price_version = gen_random_uuid() WHERE id = ?',
      (it) => [it.open],
      ['a call has the price of its version'],
    ],
    [
      'a debt that nothing left',
      'UPDATE accounts SET debt = debt + 1 WHERE id = ?',
      (it) => [it.account.id],
      [
        "an account's debt is what calls and reversals left uncollected, less what was collected or forgiven since",
        'an account with debt has nothing to spend',
      ],
    ],
    [
      'a debt that was forgotten',
      'UPDATE calls SET credits_uncollected = 7 WHERE id = ?',
      (it) => [it.settled],
      ["an account's debt is what calls and reversals left uncollected, less what was collected or forgiven since"],
    ],
    [
      'a sum of request bytes that is wrong',
      'UPDATE accounts SET request_bytes = request_bytes + 1 WHERE id = ?',
      (it) => [it.account.id],
      ["an account's request bytes are those of its open calls"],
    ],
    [
      'a count of open calls that is wrong',
      'UPDATE accounts SET outstanding_calls = outstanding_calls + 1 WHERE id = ?',
      (it) => [it.account.id],
      ["an account's outstanding calls are its open calls"],
    ],
    [
      'a call that nobody finished',
      "UPDATE calls SET deadline_at = now() - interval '2 minutes' WHERE id = ?",
      (it) => [it.open],
      ['no call is open longer than a minute past its deadline'],
    ],
    [
      'a grant of a payment that was made larger',
      "UPDATE grants SET amount = amount + 1, remaining = remaining + 1 WHERE payment_id = ? AND origin = 'purchase'",
      (it) => [it.payment],
      ['a paid payment has exactly the grants that it bought, and no other payment has any'],
    ],
    [
      'a grant that its payment has lost',
      "UPDATE grants SET payment_id = NULL WHERE payment_id = ? AND origin = 'bonus'",
      (it) => [it.payment],
      ['a paid payment has exactly the grants that it bought, and no other payment has any'],
    ],
    [
      'a payment with grants that was never paid',
      "UPDATE payments SET status = 'failed', paid_at = NULL WHERE id = ?",
      (it) => [it.payment],
      ['a paid payment has exactly the grants that it bought, and no other payment has any'],
    ],
    [
      'a payment that says it gave more than it did',
      'UPDATE payments SET credits = credits + 1 WHERE id = ?',
      (it) => [it.payment],
      ['a paid payment has exactly the grants that it bought, and no other payment has any'],
    ],
    [
      'credits of a payment that count as reversed and never moved',
      'UPDATE payments SET reversed = 1 WHERE id = ?',
      (it) => [it.payment],
      [
        "a payment's reversed credits are the sum of its reversals, and these moved what the ledger says",
        'a payment is reversed as far as its money went back',
      ],
    ],
    [
      'a refund that took no credits',
      'UPDATE payments SET refunded_minor = 500 WHERE id = ?',
      (it) => [it.payment],
      ['a payment is reversed as far as its money went back'],
    ],
    [
      'a code that hides a use',
      'UPDATE redemption_codes SET uses = 0 WHERE id = ?',
      (it) => [it.code],
      ['a code was redeemed as often as it says, each time for its credits'],
    ],
  ]

  for (const [title, sql, of, invariants] of FALSIFICATIONS) {
    it(`names ${title}`, async () => {
      // The other account, with the lot of one of the cases.
      if (/<>/.test(sql)) await anAccount(db, 1)
      expect(await broken()).to.deep.equal([])
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
      expect(
        breaches.filter(({ row }) => row.account_id === account.id || row.grant_id === account.grants[0]),
      ).to.deep.equal([])
    }
    running = false
    await traffic
  })
})
