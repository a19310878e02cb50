import { expect } from 'chai'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'
import { forgive } from '../../../src/shared/payments/debts.ts'
import { putToReview } from '../../../src/shared/payments/apply.ts'
import { useGateway } from '../../support/gateway.ts'
import { anAsker } from '../../support/console.ts'

describe("an operator's own account", () => {
  const gateway = useGateway({
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_own',
    STRIPE_WEBHOOK_SECRET: 'whsec_of_own',
  })

  it('gets credits and money only from another operator', async () => {
    const [operator, another] = [await anAsker(gateway, 'admin'), await anAsker(gateway, 'admin')]
    const path = `/api/operator/accounts/${operator.id}`
    const { payment } = (await operator.ask('POST', '/api/billing/checkout', { pack: 'starter' })).json
    await putToReview(gateway.db, parseId('payment', payment.id)!, 'amount')
    const code = (await operator.ask('POST', '/api/operator/codes', { credits: 1000 })).json.code as string
    const DEEDS: [path: string, body: object, others: number][] = [
      [`${path}/grants`, { amount: 1000, origin: 'purchase' }, 200],
      [`${path}/forgive-debt`, {}, 200],
      [`/api/operator/payments/${payment.id}/refund`, { force: true }, 400],
      [`/api/operator/payments/${payment.id}/resolve`, { verdict: 'grant' }, 200],
    ]
    for (const [deed, body] of DEEDS) {
      const { status, json } = await operator.ask('POST', deed, body)
      expect([status, json.error, json.message], deed).to.deep.equal([
        403,
        'forbidden',
        'This is your own account: another operator has to do that.',
      ])
    }
    const redeemed = await operator.ask('POST', '/api/billing/redeem', { code })
    expect([redeemed.status, redeemed.json.error]).to.deep.equal([403, 'forbidden'])
    expect((await operator.ask('GET', '/api/account')).json.credits).to.equal(0)
    for (const [deed, body, status] of DEEDS) {
      const done = await another.ask('POST', deed, body)
      expect([done.status, done.json.error === 'forbidden'], `${deed} ${done.text}`).to.deep.equal([status, false])
    }
    expect((await another.ask('POST', '/api/billing/redeem', { code })).status).to.equal(200)
  })

  it('gets them from the command line, which is recorded', async () => {
    const { id } = await anAsker(gateway, 'admin')
    const accountId = parseId('account', id)!
    const given = { id: newId('grant'), accountId, amount: 5, origin: 'bonus' } as const
    expect(await grantCredits(gateway.db, null, given)).to.equal(5)
    expect(await forgive(gateway.db, null, accountId)).to.equal(0)
    const recorded = await gateway.db('operator_actions').where({ account_id: accountId, action: 'credits_granted' })
    expect(recorded[0]).to.include({ operator_id: null })
  })
})
