import { expect } from 'chai'
import { newId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { deduct } from '../../../src/shared/ledger/deductions.ts'
import type { Deducted } from '../../../src/shared/ledger/deductions.ts'
import { listEntries } from '../../../src/shared/ledger/ledger.ts'
import { deductCredits } from '../../../src/shared/operators/changes.ts'
import { aGrant, anAccount, balanceOf, debtOf } from '../../../scripts/harness/factories.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { opened, remainders, verbs } from '../calls/opening.ts'
import { useBooks } from '../../support/database.ts'

describe('a deduction', () => {
  const db = useBooks()

  const take = (accountId: AccountId, amount: number, more: { mayOwe?: boolean; key?: string; reason?: string } = {}) =>
    db.transaction((trx) =>
      deduct(trx, {
        id: newId('deduction'),
        accountId,
        amount,
        mayOwe: false,
        reason: 'a mistake',
        key: null,
        ...more,
      }),
    )

  it('takes what expires first, and stands in the ledger with its reason', async () => {
    const account = await anAccount(db, [{ amount: 5 }, { amount: 5, days: 2 }])
    expect(await take(account.id, 7)).to.deep.include({ is: 'deducted', taken: 7, owed: 0, balance: 3 })
    expect(await remainders(db, account.grants)).to.deep.equal([3, 0])
    const { entries } = await listEntries(db, account.id, 2, null)
    expect(entries.map(({ kind, amount, balanceAfter, note }) => [kind, amount, balanceAfter, note])).to.deep.equal([
      ['adjustment', -2, 3, 'a mistake'],
      ['adjustment', -5, 5, 'a mistake'],
    ])
  })

  it('takes nothing where there is too little, neither what calls hold nor what has expired', async () => {
    const account = await anAccount(db, [{ amount: 10 }, { amount: 4, days: 1 }])
    const call = await opened(verbs(db), account, 5)
    expect(await take(account.id, 10)).to.deep.equal({ is: 'too_little', spendable: 9 })
    await db('grants').where({ id: account.grants[1]! }).update({ expires_at: db.fn.now() })
    expect(await take(account.id, 10)).to.deep.equal({ is: 'too_little', spendable: 9 })
    await verbs(db).refund(call, gatewayError('upstream_failed'))
  })

  it('leaves as debt what is spent already where that is allowed, and the next credits repay it', async () => {
    const account = await anAccount(db, 10)
    const taken = await take(account.id, 25, { mayOwe: true })
    expect(taken).to.deep.include({ is: 'deducted', taken: 10, owed: 15, balance: 0 })
    expect(await take(account.id, 5, { mayOwe: true })).to.deep.include({ taken: 0, owed: 5 })
    expect(await debtOf(db, account.id)).to.equal(20)
    await aGrant(db, account.id, { amount: 50 })
    expect([await debtOf(db, account.id), await balanceOf(db, account.id)]).to.deep.equal([0, 30])
  })

  it('is done once however often it is asked for, at the same time too, and never as another one', async () => {
    const account = await anAccount(db, 100)
    const tries = Array.from({ length: 8 }, () => take(account.id, 30, { key: 'once' }))
    const outcomes = (await Promise.all(tries)) as (Deducted & { id: string })[]
    expect(outcomes.filter((one) => one.is === 'deducted')).to.have.lengthOf(1)
    expect(outcomes.filter((one) => one.is === 'repeated')).to.have.lengthOf(7)
    expect(new Set(outcomes.map(({ id }) => id)).size).to.equal(1)
    expect(await take(account.id, 31, { key: 'once' })).to.deep.equal({ is: 'conflict' })
    expect(await take(account.id, 30, { key: 'once', reason: 'another' })).to.deep.equal({ is: 'conflict' })
    expect(await balanceOf(db, account.id)).to.equal(70)
    const other = await anAccount(db, 100)
    expect(await take(other.id, 30, { key: 'once' }), 'a key is of one account').to.deep.include({ is: 'deducted' })
  })

  it('never takes more than there is, whatever runs beside it', async () => {
    const account = await anAccount(db, [{ amount: 30 }, { amount: 30, days: 1 }])
    const calls = verbs(db)
    await Promise.all([
      ...Array.from({ length: 8 }, () => take(account.id, 9)),
      ...Array.from({ length: 8 }, () => opened(calls, account, 3).catch(() => null)),
    ])
    expect(await balanceOf(db, account.id)).to.be.within(0, 60)
  })

  it('is recorded with its operator once, and of an account that does not exist nothing is', async () => {
    const account = await anAccount(db, 10)
    const wanted = { accountId: account.id, amount: 3, mayOwe: false, reason: 'twice', key: 'k' }
    for (let times = 0; times < 2; times++) await deductCredits(db, null, { id: newId('deduction'), ...wanted })
    const actions = await db('operator_actions').where({ account_id: account.id }).pluck('action')
    expect(actions).to.deep.equal(['credits_deducted'])
    const nobody = { ...wanted, id: newId('deduction'), accountId: newId('account') }
    expect(await deductCredits(db, null, nobody)).to.equal(null)
  })
})
