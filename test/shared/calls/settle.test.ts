import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import { aResult, letExpire, movements, opened, remainders, rowOf, verbs } from './opening.ts'
import { useBooks } from '../../support/database.ts'

const failure = gatewayError('upstream_failed')

describe('the settlement of a call', () => {
  const db = useBooks()
  const calls = verbs(db)

  it('moves nothing if the estimate was right', async () => {
    const account = await anAccount(db, 100)
    const id = await opened(calls, account, 40)
    const ended = await calls.settle(id, 'image', aResult(40))
    expect(JSON.parse(ended!.answer.body).usage).to.include({ credits: 40, balance: 60 })
    expect(await movements(db, id, account.grants)).to.deep.equal(['charge -40 0'])
  })

  it('gives back the surplus, to the grants that would have been burnt last', async () => {
    const account = await anAccount(db, [{ amount: 30, days: 1 }, { amount: 30, days: 2 }, { amount: 30 }])
    const id = await opened(calls, account, 80)
    await calls.settle(id, 'image', aResult(35))
    expect(await movements(db, id, account.grants)).to.deep.equal([
      'charge -30 0',
      'charge -30 1',
      'charge -20 2',
      'settlement 20 2',
      'settlement 25 1',
    ])
    expect(await remainders(db, account.grants)).to.deep.equal([0, 25, 30])
    const due = { credits: 35, credits_precharged: 80, credits_uncollected: 0, balance_after: 55 }
    expect(await rowOf(db, id)).to.include(due)
  })

  it('charges the shortfall, in burn order', async () => {
    const account = await anAccount(db, [{ amount: 10, days: 2 }, { amount: 50 }])
    const id = await opened(calls, account, 8)
    await calls.settle(id, 'image', aResult(15))
    expect(await movements(db, id, account.grants)).to.deep.equal(['charge -8 0', 'settlement -2 0', 'settlement -5 1'])
    expect(await rowOf(db, id)).to.include({ credits: 15, credits_uncollected: 0, balance_after: 45 })
  })

  it('collects at most down to zero, and records what it could not collect', async () => {
    const account = await anAccount(db, [{ amount: 10, days: 2 }, { amount: 5 }])
    const id = await opened(calls, account, 12)
    const ended = await calls.settle(id, 'image', aResult(23))
    expect(JSON.parse(ended!.answer.body).usage).to.include({ credits: 15, balance: 0 })
    expect(await rowOf(db, id)).to.include({ credits: 15, credits_uncollected: 8, balance_after: 0 })
    expect(await balanceOf(db, account.id)).to.equal(0)
  })

  it('is never above twice the charge, collected or not, whatever its result says', async () => {
    for (const [funds, collected, uncollected] of [
      [100, 24, 0],
      [15, 15, 9],
      [12, 12, 12],
    ] as const) {
      const account = await anAccount(db, funds)
      const id = await opened(calls, account, 12)
      await calls.settle(id, 'image', aResult(29_999_797))
      expect(await rowOf(db, id)).to.include({ credits: collected, credits_uncollected: uncollected })
      expect(await balanceOf(db, account.id)).to.equal(funds - collected)
    }
    const account = await anAccount(db, 1)
    const free = await opened(calls, account, 0)
    await calls.settle(free, 'image', aResult(5))
    expect(await rowOf(db, free)).to.include({ credits: 0, credits_uncollected: 0 })
  })

  it('collects nothing from an expired grant', async () => {
    const account = await anAccount(db, [{ amount: 10 }, { amount: 10, days: 1 }])
    const id = await opened(calls, account, 10)
    await letExpire(db, account.grants[1]!)
    const late = await opened(calls, account, 10)
    await calls.settle(late, 'image', aResult(15))
    expect(await rowOf(db, late)).to.include({ credits: 10, credits_uncollected: 5 })
    await calls.refund(id, failure)
  })
})
