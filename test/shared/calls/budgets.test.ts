import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import type { Period } from '../../../src/shared/identity/budgets.ts'
import { findKey } from '../../../src/shared/identity/shown-key.ts'
import type { KeyId } from '../../../src/shared/platform/ids.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import {
  aResult,
  anOrder,
  letWindowPass,
  opened,
  refund,
  spent,
  sweepCallsOf,
  verbs,
  wordOf,
  wordsOf,
} from './opening.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { useBooks } from '../../support/database.ts'

describe('the budget of a key, judged by the charge', () => {
  const db = useBooks({ pool: 20 })
  before(withinOneDay)

  async function withBudget(credits: number, period: Period = 'total', funds = 10_000): Promise<TestAccount> {
    const account = await anAccount(db, funds)
    await changeKey(db, account.keyId, { budget: { credits, period } })
    return account
  }

  const usedOf = async (id: KeyId): Promise<number> => (await findKey(db, id))!.budget!.used

  describe('a budget', () => {
    it('opens exactly 50 of 200 parallel calls on a budget for 50 at several processes', async () => {
      const account = await withBudget(350 + 6, 'week')
      const processes = Array.from({ length: 4 }, () => verbs(db))
      const words = (
        await Promise.all(Array.from({ length: 200 }, (_, at) => processes[at % 4]!.open(anOrder(account, 7))))
      ).map(wordOf)
      expect(words.filter((word) => word === 'opened').length).to.equal(50)
      expect(words.filter((word) => word === 'key_budget_in_use').length).to.equal(150)
      expect(await balanceOf(db, account.id)).to.equal(10_000 - 350)
      expect(await usedOf(account.keyId)).to.equal(350)
    })

    it('ends at its own call of a batch, whatever the other keys of the account have left', async () => {
      const account = await withBudget(10)
      const budget = { credits: 25, period: 'day' } as const
      const other = { ...account, keyId: (await createKey(db, account.id, 'other', { budget })).id }
      const free = { ...account, keyId: (await createKey(db, account.id, 'free')).id }
      const batch = [account, other, free, account, other, account, free, other].map((key) => anOrder(key, 5))
      const words = 'opened opened opened opened opened key_budget_in_use opened opened'.split(' ')
      expect(await wordsOf(db, batch)).to.deep.equal(words)
      expect([await usedOf(account.keyId), await usedOf(other.keyId)]).to.deep.equal([10, 15])
      const next = [anOrder(account, 5), anOrder(other, 20), anOrder(other, 10), anOrder(free, 1)]
      expect(await wordsOf(db, next)).to.deep.equal(['key_budget_in_use', 'key_budget_in_use', 'opened', 'opened'])
    })

    it('is asked before the balance, and a call that neither allows leaves both alone', async () => {
      const account = await withBudget(10, 'day', 4)
      const calls = verbs(db)
      expect(wordOf(await calls.open(anOrder(account, 11)))).to.equal('key_budget_exceeded')
      expect(wordOf(await calls.open(anOrder(account, 5)))).to.equal('insufficient_credits')
      expect([await usedOf(account.keyId), await balanceOf(db, account.id)]).to.deep.equal([0, 4])
    })

    it('of 0 allows nothing, not even a call that costs nothing; a spent one still does', async () => {
      const none = await withBudget(0)
      expect(wordOf(await verbs(db).open(anOrder(none, 0)))).to.equal('key_budget_exceeded')
      const all = await withBudget(5)
      await spent(verbs(db), all, 5)
      await opened(verbs(db), all, 0)
      expect(wordOf(await verbs(db).open(anOrder(all, 1)))).to.equal('key_budget_exceeded')
    })

    it('that running calls hold is in use, and exceeded by what no end of theirs can pay', async () => {
      const account = await withBudget(10)
      const calls = verbs(db)
      const tried = async (amount: number, leaves = 0) => wordOf(await calls.open(anOrder(account, amount, { leaves })))
      await spent(calls, account, 3)
      const holding = await opened(calls, account, 5)
      const words = ['key_budget_in_use', 'key_budget_in_use', 'key_budget_exceeded']
      expect([await tried(3), await tried(7), await tried(8)]).to.deep.equal(words)
      expect(await tried(1, 2), 'a call that must leave as much as is free').to.equal('key_budget_in_use')
      await refund(db, holding)
      const due = ['key_budget_in_use', 'opened', 'key_budget_in_use']
      expect([await tried(4, 4), await tried(3, 4), await tried(5)]).to.deep.equal(due)
    })

    it('is used by a settlement above the charge, beyond its end and beyond the balance', async () => {
      const account = await withBudget(12, 'day', 15)
      const [call, dear] = [await opened(verbs(db), account, 5), await opened(verbs(db), account, 5)]
      await verbs(db).settle(call, 'image', aResult(9))
      expect(await usedOf(account.keyId)).to.equal(14)
      await verbs(db).settle(dear, 'image', aResult(20))
      expect(await usedOf(account.keyId), 'at most twice the charge').to.equal(19)
      expect((await findKey(db, account.keyId))!.budget).to.include({ remaining: 0 })
    })

    for (const period of ['day', 'week', 'month'] as const) {
      it(`resets each ${period}, and counts a call in the ${period} in which it was opened`, async () => {
        const account = await withBudget(10, period)
        const calls = verbs(db)
        const [failing, dear] = [await opened(calls, account, 4), await opened(calls, account, 4)]
        expect(wordOf(await calls.open(anOrder(account, 4)))).to.equal('key_budget_in_use')
        await letWindowPass(db, account, period)
        expect(await usedOf(account.keyId)).to.equal(0)
        await opened(calls, account, 8)
        await refund(db, failing)
        await calls.settle(dear, 'image', aResult(7))
        expect(await usedOf(account.keyId)).to.equal(8)
        const windows = await db('budget_windows')
          .join('budgets', 'budgets.id', 'budget_id')
          .where({ key_id: account.keyId })
          .orderBy('starts_at')
          .select('used', 'held')
        expect(windows).to.deep.equal([
          { used: 7, held: 0 },
          { used: 8, held: 8 },
        ])
      })
    }

    it('counts from when it is set, whatever its key used before and however those calls end', async () => {
      const account = await anAccount(db, 200)
      const calls = verbs(db)
      const [settled, refunded] = [await opened(calls, account, 10), await opened(calls, account, 10)]
      const charged = await opened(calls, account, 10)
      await changeKey(db, account.keyId, { budget: { credits: 14, period: 'week' } })
      expect(await usedOf(account.keyId)).to.equal(0)
      await opened(calls, account, 13)
      await calls.settle(settled, 'image', aResult(6))
      await refund(db, refunded)
      await calls.settle(charged, 'image', aResult(30))
      expect(await usedOf(account.keyId)).to.equal(13)
      expect(wordOf(await calls.open(anOrder(account, 2)))).to.equal('key_budget_in_use')
      await opened(calls, account, 1)
    })

    it('keeps what was used when it is raised or lowered, and begins anew when its period changes', async () => {
      const account = await withBudget(13, 'week')
      const calls = verbs(db)
      await opened(calls, account, 13)
      await changeKey(db, account.keyId, { budget: { credits: 14, period: 'week' } })
      expect(await usedOf(account.keyId)).to.equal(13)
      await opened(calls, account, 1)
      expect(wordOf(await calls.open(anOrder(account, 1)))).to.equal('key_budget_in_use')
      await changeKey(db, account.keyId, { budget: { credits: 14, period: 'total' } })
      expect(await usedOf(account.keyId)).to.equal(0)
      await opened(calls, account, 5)
      await changeKey(db, account.keyId, { budget: null })
      await opened(calls, account, 50)
      await changeKey(db, account.keyId, { budget: { credits: 14, period: 'total' } })
      expect(await usedOf(account.keyId)).to.equal(0)
    })

    it('counts no swept record of a call from before it was set', async () => {
      const account = await anAccount(db, 100)
      const calls = verbs(db)
      await calls.settle(await opened(calls, account, 10), 'image', aResult(6))
      await changeKey(db, account.keyId, { budget: { credits: 90, period: 'total' } })
      await calls.settle(await opened(calls, account, 10), 'image', aResult(7))
      await sweepCallsOf(db, account.id)
      expect(await db('calls').where({ account_id: account.id })).to.deep.equal([])
      expect(await usedOf(account.keyId)).to.equal(7)
    })

    it('stays exact while it is changed in the middle of charges, settlements and refunds', async () => {
      const account = await withBudget(300, 'day')
      const processes = [verbs(db), verbs(db)]
      const periods = ['week', 'total', 'day', 'month'] as const
      await Promise.all([
        ...Array.from({ length: 60 }, async (_, at) => {
          const calls = processes[at % 2]!
          const order = anOrder(account, 7)
          if (!(await calls.open(order)).opened) return
          if (at % 3 === 0) await refund(db, order.id)
          else await calls.settle(order.id, 'image', aResult(at % 3 === 1 ? 2 : 9))
        }),
        ...periods.map(async (period, at) => {
          await changeKey(db, account.keyId, { budget: at === 1 ? null : { credits: 300, period } })
        }),
      ])
    })
  })

  describe('a window', () => {
    const WINDOWS: [period: Period, moment: string, starts: string][] = [
      ['day', '2026-03-29 23:59:59.999999+00', '2026-03-29 00:00:00'],
      ['day', '2026-03-30 00:30:00+02', '2026-03-29 00:00:00'],
      ['week', '2026-11-22 23:59:59+00', '2026-11-16 00:00:00'],
      ['week', '2026-11-23 00:00:00+00', '2026-11-23 00:00:00'],
      ['week', '2027-01-01 12:00:00+00', '2026-12-28 00:00:00'],
      ['month', '2028-02-29 23:00:00-02', '2028-03-01 00:00:00'],
      ['month', '2026-12-31 23:59:59+00', '2026-12-01 00:00:00'],
    ]
    it('is one of UTC, and a week begins on Monday, whatever the time zone of the session', async () => {
      await db.transaction(async (trx) => {
        await trx.raw("SET LOCAL TIME ZONE 'America/New_York'")
        for (const [period, moment, starts] of WINDOWS) {
          const { rows } = await trx.raw<{ rows: { at: string }[] }>(
            `SELECT to_char(budget_window(?, ?::timestamptz) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS at`,
            [period, moment],
          )
          expect(rows[0]!.at, `${period} of ${moment}`).to.equal(starts)
        }
      })
    })
  })
})
