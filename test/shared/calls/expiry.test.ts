import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import type { GrantId } from '../../../src/shared/platform/ids.ts'
import { expireGrants, listEntries, listGrants, reversePayment } from '../../../src/shared/ledger/ledger.ts'
import { aGrant, anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aPaidPayment } from '../payments/fixture.ts'
import { aResult, anOrder, letExpire, letPass, opened, remainders, verbs, wordOf } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const failure = gatewayError('upstream_failed')

describe('a grant that has expired', () => {
  const db = useBooks()

  /** The entries of an account after its grants, as `kind amount = balance`, oldest first. */
  async function entriesOf({ id, grants }: TestAccount): Promise<string[]> {
    const { entries } = await listEntries(db, id, 100, null)
    return entries
      .toReversed()
      .slice(grants.length)
      .map(({ kind, amount, balanceAfter }) => `${kind} ${amount} = ${balanceAfter}`)
  }

  /** In how many hours from its first expiry a grant pays for nothing any more; null: it has not been revived. */
  async function hoursOf(id: GrantId): Promise<number | null> {
    const { rows } = await db.raw<{ rows: { hours: string | null }[] }>(
      'SELECT extract(epoch FROM revived_until - expires_at) / 3600 AS hours FROM grants WHERE id = ?',
      [id],
    )
    return rows[0]!.hours === null ? null : Number(rows[0]!.hours)
  }

  for (const [what, back, end] of [
    ['a refund', 40, (id) => verbs(db).refund(id, failure)],
    ['a settlement', 30, (id) => verbs(db).settle(id, 'image', aResult(10))],
  ] as [string, number, (id: Awaited<ReturnType<typeof opened>>) => Promise<{ balance: number } | null>][]) {
    it(`loses what had not been spent then, whatever ${what} gives back to it`, async () => {
      const account = await anAccount(db, [{ amount: 100, days: 1 }])
      const id = await opened(verbs(db), account, 40)
      await letExpire(db, account.grants[0]!)
      expect((await end(id))!.balance).to.equal(back)
      expect(await entriesOf(account)).to.deep.equal([
        'charge -40 = 60',
        'expiry -60 = 0',
        `${what.slice(2)} ${back} = ${back}`,
      ])
      expect(await hoursOf(account.grants[0]!)).to.equal(24)
      expect(await expireGrants(db, 100)).to.equal(0)
      expect(wordOf(await verbs(db).open(anOrder(account, back + 1)))).to.equal('insufficient_credits')
      expect(wordOf(await verbs(db).open(anOrder(account, back)))).to.equal('opened')
    })
  }

  it('is gone for an account that makes calls all the time', async () => {
    const account = await anAccount(db, [{ amount: 1000, days: 1 }])
    const calls = verbs(db)
    const running = await Promise.all([1, 2, 3, 4].map(() => opened(calls, account, 20)))
    await letExpire(db, account.grants[0]!)
    for (let day = 0; day < 3; day++) {
      await Promise.all(running.map((id) => calls.settle(id, 'image', aResult(1))))
      running.splice(0)
      for (let nth = 0; nth < 4; nth++) {
        const order = anOrder(account, 2)
        if ((await calls.open(order)).opened) running.push(order.id)
      }
      if (day === 0) expect(await balanceOf(db, account.id)).to.equal(4 * 19 - 4 * 2)
      await letPass(db, account.grants[0]!, 24)
    }
    expect(await balanceOf(db, account.id)).to.equal(0)
  })

  it('lives a day from its first expiry, however often something comes back', async () => {
    const account = await anAccount(db, [{ amount: 30, days: 1 }])
    const [grant] = account.grants
    const calls = verbs(db)
    const first = await opened(calls, account, 20)
    await letExpire(db, grant!)
    await calls.refund(first, failure)
    await letPass(db, grant!, 20)
    const second = await opened(calls, account, 20)
    await calls.settle(second, 'image', aResult(5))
    expect(await hoursOf(grant!)).to.equal(24)
    const [shown] = await listGrants(db, account.id)
    expect(new Date(shown!.expiresAt!).getTime() - Date.now()).to.be.within(3 * 3_600_000, 4 * 3_600_000)
    await letPass(db, grant!, 4)
    expect(wordOf(await calls.open(anOrder(account, 1)))).to.equal('insufficient_credits')
    expect(await balanceOf(db, account.id)).to.equal(0)
  })

  it('keeps nothing of what comes back later than that: it expires at once, by its own entry', async () => {
    const account = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 7 }])
    const [grant] = account.grants
    const calls = verbs(db)
    const ids = [await opened(calls, account, 10), await opened(calls, account, 4)]
    await letExpire(db, grant!)
    await letPass(db, grant!, 24)
    const ends = await Promise.all([calls.refund(ids[0]!, failure), calls.settle(ids[1]!, 'image', aResult(1))])
    expect(ends.map((end) => end!.balance)).to.deep.equal([7, 7])
    const due = ['expiry -13 = 7', 'expiry -16 = 7', 'refund 10 = 17', 'settlement 3 = 20']
    expect((await entriesOf(account)).slice(2).toSorted()).to.deep.equal(due)
    expect(await remainders(db, account.grants)).to.deep.equal([0, 7])
  })

  it('keeps what a reinstated payment gives back for a day from its return, and nothing that it had left', async () => {
    const account = await anAccount(db)
    const { id: payment } = await aPaidPayment(db, account.id)
    const spent = await opened(verbs(db), account, 1050)
    await verbs(db).settle(spent, 'image', aResult(1050))
    const other = await aGrant(db, account.id, { amount: 200, days: 1 })
    const reverse = (refunded: number, target: number) =>
      db.transaction(async (trx) => {
        await trx('payments').where({ id: payment }).update({ refunded_minor: refunded })
        return reversePayment(trx, payment, target)
      })
    expect(await reverse(50, 50)).to.equal(150)
    await letExpire(db, other)
    await letPass(db, other, 100)
    expect(await reverse(0, 0)).to.equal(50)
    expect(await hoursOf(other)).to.be.within(124, 124.1)
    await letPass(db, other, 23)
    const call = await opened(verbs(db), account, 50)
    await letPass(db, other, 1)
    expect((await verbs(db).refund(call, failure))!.balance).to.equal(0)
  })
})
