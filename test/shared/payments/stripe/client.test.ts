import { expect } from 'chai'
import { createSandbox } from '../../../../sandbox/server.ts'
import { newId } from '../../../../src/shared/platform/ids.ts'
import { providerOf } from '../../../../src/shared/payments/deps.ts'
import { stripeAccountAt } from '../../../../scripts/harness/stripe-sandbox.ts'
import { WEBHOOK_SECRET } from '../fixture.ts'

describe('the address of Stripe', () => {
  it('may be one of IPv6', async () => {
    const sandbox = await createSandbox({ host: '::1' })
    const address = `http://[::1]:${new URL(sandbox.url).port}`
    try {
      const { key } = stripeAccountAt(address)
      const config = { PAYMENTS: 'stripe', STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET } as const
      const provider = providerOf({ ...config, STRIPE_API_BASE: address })!
      expect(await provider.customerOf(newId('account'), null)).to.match(/^cus_/)
    } finally {
      await sandbox.close()
    }
  })
})
