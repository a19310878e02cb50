import { expect } from 'chai'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import type { Period } from '../../../src/shared/identity/budgets.ts'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, letWindowPass, opened, spent, verbs } from './opening.ts'
import { withinOneDay } from '../../support/one-day.ts'
import { useBooks } from '../../support/database.ts'

describe('a mail about a budget', () => {
  const db = useBooks()
  before(withinOneDay)

  async function withBudget(credits: number, period: Period): Promise<TestAccount> {
    const account = await anAccount(db, 10_000)
    await changeKey(db, account.keyId, { budget: { credits, period } })
    return account
  }

  const mailsOf = async ({ userId }: TestAccount): Promise<number[]> =>
    (
      await db('mails')
        .where({ user_id: userId, kind: 'budget', status: 'queued' })
        .orderBy('created_at')
        .select<{ details: { percent: number } }[]>('details')
    ).map(({ details }) => details.percent)

  async function proven(credits: number, period: Period): Promise<TestAccount> {
    const account = await withBudget(credits, period)
    await db('users').where({ id: account.userId }).update({ email_verified_at: db.fn.now() })
    return account
  }

  it('is asked for with the end of the call that passes 80 and 100 percent, once per window', async () => {
    const account = await proven(100, 'day')
    const calls = verbs(db)
    await spent(calls, account, 79)
    expect(await mailsOf(account)).to.deep.equal([])
    await spent(calls, account, 1)
    expect(await mailsOf(account)).to.deep.equal([80])
    await spent(calls, account, 20)
    expect(await mailsOf(account)).to.deep.equal([80, 100])
    await letWindowPass(db, account, 'day')
    await spent(calls, account, 100)
    expect(await mailsOf(account)).to.deep.equal([80, 100, 100])
  })

  it('is not asked for by what running calls hold and give back', async () => {
    const account = await proven(100, 'day')
    const calls = verbs(db)
    for (let round = 0; round < 3; round++) {
      const holding = await opened(calls, account, 100 - 16 * round)
      if (round === 2) await calls.refund(holding, gatewayError('upstream_failed'))
      else await calls.settle(holding, 'image', aResult(16))
    }
    expect(await mailsOf(account)).to.deep.equal([])
    const holding = await opened(calls, account, 20)
    await spent(calls, account, 48)
    expect(await mailsOf(account), '80 are spent, and 100 used').to.deep.equal([80])
    await calls.settle(holding, 'image', aResult(20))
    expect(await mailsOf(account)).to.deep.equal([80, 100])
  })

  it('is asked for by a settlement too, and not of an account whose address is not proved', async () => {
    const [account, unproven] = [await proven(100, 'total'), await withBudget(100, 'total')]
    for (const one of [account, unproven]) {
      const call = await opened(verbs(db), one, 45)
      await verbs(db).settle(call, 'image', aResult(90))
    }
    expect(await mailsOf(account)).to.deep.equal([80])
    expect(await mailsOf(unproven)).to.deep.equal([])
  })
})
