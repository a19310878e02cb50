import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import { expireGrants, grant, listEntries, listGrants } from '../../../src/shared/ledger/ledger.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import { aResult, letExpire, opened, remainders, spendableCredits, verbs } from '../calls/opening.ts'
import { useBooks } from '../../support/database.ts'

describe('the ledger', () => {
  const db = useBooks()

  it('adds a grant to the balance, with an entry that has its origin', async () => {
    const account = await anAccount(db)
    const id = newId('grant')
    const balance = await db.transaction((trx) =>
      grant(trx, { id, accountId: account.id, origin: 'bonus', amount: 25, note: 'welcome' }),
    )
    expect(balance).to.equal(25)
    const { entries, next } = await listEntries(db, account.id, 10, null)
    expect(entries.map(({ createdAt: _at, ...entry }) => entry)).to.deep.equal([
      {
        id: 'entry_1',
        callId: null,
        kind: 'grant',
        amount: 25,
        balanceAfter: 25,
        origin: 'bonus',
        grantId: `grant_${id.replaceAll('-', '')}`,
        note: 'welcome',
      },
    ])
    expect(next).to.equal(null)
  })

  it('grants nothing if the transaction is rolled back, and nothing twice for one id', async () => {
    const account = await anAccount(db)
    const given = { id: newId('grant'), accountId: account.id, origin: 'purchase' as const, amount: 10 }
    await db
      .transaction(async (trx) => {
        await grant(trx, given)
        throw new Error('the cause failed')
      })
      .catch(() => {})
    expect(await balanceOf(db, account.id)).to.equal(0)
    await db.transaction((trx) => grant(trx, given))
    expect(
      await db.transaction((trx) => grant(trx, given)).catch((error: { constraint?: string }) => error.constraint),
    ).to.equal('grants_pkey')
    expect(await balanceOf(db, account.id)).to.equal(10)
  })

  it('removes the rest of expired grants from the balance, with an entry each, in burn order', async () => {
    const account = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 20, days: 2 }, { amount: 10 }])
    const call = await opened(verbs(db), account, 5)
    await verbs(db).settle(call, 'image', aResult(5))
    for (const id of account.grants.slice(0, 2)) await letExpire(db, id)
    expect(await spendableCredits(db, account.id)).to.equal(10)
    expect(await expireGrants(db, 1000)).to.be.at.least(2)
    expect(await remainders(db, account.grants)).to.deep.equal([0, 0, 10])
    const { entries } = await listEntries(db, account.id, 2, null)
    expect(entries.map((entry) => [entry.kind, entry.amount, entry.balanceAfter])).to.deep.equal([
      ['expiry', -20, 10],
      ['expiry', -25, 30],
    ])
    expect(await expireGrants(db, 1000)).to.equal(0)
  })

  it('expires a grant once, however many sweeps run at the same time', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 8 }, () => anAccount(db, [{ amount: 9, days: 1 }, { amount: 1 }])),
    )
    for (const { grants } of accounts) await letExpire(db, grants[0]!)
    const swept = await Promise.all(Array.from({ length: 6 }, () => expireGrants(db, 3)))
    while ((await expireGrants(db, 3)) > 0) swept.push(0)
    expect(swept.reduce((sum, count) => sum + count, 0)).to.be.at.most(8)
    for (const { id } of accounts) expect(await balanceOf(db, id)).to.equal(1)
  })

  it('lists entries newest first, page by page, and grants newest first', async () => {
    const account = await anAccount(db, [{ amount: 1 }, { amount: 2, days: 3 }, { amount: 3 }])
    const first = await listEntries(db, account.id, 2, null)
    expect(first.entries.map((entry) => entry.amount)).to.deep.equal([3, 2])
    const second = await listEntries(db, account.id, 2, first.next)
    expect(second.entries.map((entry) => entry.amount)).to.deep.equal([1])
    expect(second.next).to.equal(null)
    const grants = await listGrants(db, account.id)
    expect(grants.map((one) => [one.amount, one.remaining, one.expiresAt !== null])).to.deep.equal([
      [3, 3, false],
      [2, 2, true],
      [1, 1, false],
    ])
  })
})
