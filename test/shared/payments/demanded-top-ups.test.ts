import { expect } from 'chai'
import { gatewayError } from '../../../src/shared/platform/errors.ts'
import { billingOf, changeSettings, noticeLowBalances } from '../../../src/shared/payments/settings.ts'
import { demandTopUp, dueTopUps, topUp } from '../../../src/shared/payments/top-ups.ts'
import { aGrant, anAccount, balanceOf, proveAddress } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { aResult, opened, spent, verbs } from '../calls/opening.ts'
import { aBuyer, autos, catalogue, mailsTo, usePayments } from './fixture.ts'
import { useBooks } from '../../support/database.ts'

describe('top-ups and mails by funds', () => {
  const db = useBooks({ isOwn: true })
  const fixture = usePayments(db)

  describe('an automatic top-up, decided by funds and by refused calls,', () => {
    it('is not caused by what running calls hold, nor is the mail about a low balance', async () => {
      const account = await aBuyer(fixture)
      await changeSettings(db, account.id, { lowBalance: { threshold: 500 } }, false)
      const before = await mailsTo(db, account)
      const follow = async () => {
        expect(await dueTopUps(db, 200)).not.to.include(account.id)
        await topUp(fixture.deps, catalogue, account.id)
        await noticeLowBalances(db, 200)
      }
      const calls = verbs(db)
      for (let round = 0; round < 3; round++) {
        const call = await opened(calls, account, await balanceOf(db, account.id))
        await follow()
        if (round === 1) await calls.refund(call, gatewayError('upstream_failed'))
        else await calls.settle(call, 'image', aResult(16))
        await follow()
      }
      expect([await balanceOf(db, account.id), await autos(db, account.id)]).to.deep.equal([1050 - 32, []])
      expect(await mailsTo(db, account)).to.deep.equal(before)
      const [held, costly] = [await opened(calls, account, 300), await opened(calls, account, 600)]
      await calls.settle(costly, 'image', aResult(600))
      expect(await dueTopUps(db, 200), 'funds of 418').to.include(account.id)
      await calls.settle(held, 'image', aResult(1))
    })

    const stateOf = async ({ id }: TestAccount) =>
      db('accounts')
        .where({ id })
        .first<{ top_up_state: string; top_up_for: number | null }>('top_up_state', 'top_up_for')

    it('is demanded by a call that the funds do not pay, also above the threshold, and once each', async () => {
      const account = await aBuyer(fixture)
      const calls = verbs(db)
      const holding = await opened(calls, account, 1000)
      await demandTopUp(db, account.id, 1050)
      expect(await stateOf(account), 'held credits may come back').to.include({ top_up_state: 'armed' })
      await demandTopUp(db, account.id, 1051)
      expect(await stateOf(account)).to.deep.equal({ top_up_state: 'due', top_up_for: 1051 })
      await calls.refund(holding, gatewayError('upstream_failed'))
      await spent(calls, account, 10)
      expect(await dueTopUps(db, 200), 'calls that end above the threshold withdraw nothing').to.include(account.id)
      await Promise.all([1, 2, 3].map(() => topUp(fixture.deps, catalogue, account.id)))
      expect(await autos(db, account.id)).to.deep.equal(['paid'])
      expect(await stateOf(account)).to.deep.equal({ top_up_state: 'armed', top_up_for: null })
      await demandTopUp(db, account.id, 1051)
      await topUp(fixture.deps, catalogue, account.id)
      expect(await autos(db, account.id), 'the funds pay it now').to.deep.equal(['paid'])
    })

    it('is withdrawn by credits that arrive before the card is charged', async () => {
      const account = await aBuyer(fixture)
      await demandTopUp(db, account.id, 1051)
      await aGrant(db, account.id, { amount: 1 })
      expect(await stateOf(account)).to.deep.equal({ top_up_state: 'armed', top_up_for: null })
      await db('accounts').where({ id: account.id }).update({ top_up_state: 'due' })
      await topUp(fixture.deps, catalogue, account.id)
      expect([await autos(db, account.id), (await stateOf(account)).top_up_state]).to.deep.equal([[], 'armed'])
    })

    it('is not demanded while a declined one waits for its next attempt, nor where it is off', async () => {
      const account = await aBuyer(fixture)
      const { method } = (await billingOf(db, account.id, false)).card!
      await fixture.stripe.control('POST', `cards/${method}`, { card: 'declined' })
      for (let call = 0; call < 4; call++) {
        await demandTopUp(db, account.id, 2000)
        await topUp(fixture.deps, catalogue, account.id)
        await spent(verbs(db), account, 1)
      }
      expect(await autos(db, account.id)).to.deep.equal(['failed'])
      await changeSettings(db, account.id, { autoTopUp: null }, false)
      await demandTopUp(db, account.id, 2000)
      expect(await stateOf(account)).to.deep.equal({ top_up_state: 'armed', top_up_for: null })
    })
  })

  describe('the mail about a low balance', () => {
    it('is sent once for a threshold, even if the same one is set again', async () => {
      const account = await anAccount(db, 1000)
      await proveAddress(db, account)
      for (let round = 0; round < 5; round++) {
        await changeSettings(db, account.id, { lowBalance: { threshold: 995 } }, false)
        await spent(verbs(db), account, 10)
        await noticeLowBalances(db, 200)
      }
      expect(await mailsTo(db, account)).to.deep.equal(['low_balance'])
      await changeSettings(db, account.id, { lowBalance: { threshold: 900 } }, false)
      await spent(verbs(db), account, 100)
      await noticeLowBalances(db, 200)
      expect(await mailsTo(db, account)).to.deep.equal(['low_balance', 'low_balance'])
    })
  })
})
