import { expect } from 'chai'
import type { StripeAccount } from '../../../scripts/harness/stripe-sandbox.ts'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import { until } from '../../../scripts/harness/until.ts'
import { createSandbox } from '../../../sandbox/server.ts'
import type { Sandbox } from '../../../sandbox/server.ts'
import { newId } from '../../../src/shared/platform/ids.ts'
import { withCircuit } from '../../../src/shared/payments/circuit.ts'
import { providerOf } from '../../../src/shared/payments/deps.ts'
import type { Provider } from '../../../src/shared/payments/provider.ts'
import { ProviderUnavailable } from '../../../src/shared/payments/provider.ts'
import { stripeAt } from './fixture.ts'

describe('the circuit of a provider', () => {
  let sandbox: Sandbox
  let stripe: StripeAccount
  let provider: Provider
  before(async () => {
    sandbox = await createSandbox({})
  })
  after(() => sandbox.close())
  beforeEach(() => {
    stripe = stripeAccountAt(sandbox.url)
    provider = withCircuit(providerOf(stripeAt(sandbox.url, stripe.key), 500)!, { failures: 2, coolDownMs: 1000 })
  })

  const ask = (): Promise<string> =>
    provider.customerOf(newId('account'), null).then(
      () => 'answered',
      (error: unknown) => (error instanceof ProviderUnavailable ? error.message : String(error)),
    )

  it('opens when the provider hangs, sends nothing meanwhile, and closes when it answers again', async () => {
    await stripe.fault('POST /v1/customers', 'hang', 2)
    for (let tries = 0; tries < 2; tries++) expect(await ask()).to.match(/^Stripe: /)
    // Whoever asked would be answered.
    expect(await ask()).to.equal('the circuit is open')
    expect(await stripe.list('customer')).to.deep.equal([])
    await until('it is asked again', async () => (await ask()) === 'answered')
    expect(await ask()).to.equal('answered')
  })

  it('lets one request test whether it answers again, and refuses the others at once', async () => {
    await stripe.fault('POST /v1/customers', '503', 2)
    for (let tries = 0; tries < 2; tries++) await ask()
    await stripe.fault('POST /v1/customers', 'hang')
    await until('the circuit is tested', async () => {
      const [first, ...others] = await Promise.all([ask(), ask(), ask()])
      if (first === 'the circuit is open') return false
      expect([first, ...others]).to.deep.equal([first, 'the circuit is being tested', 'the circuit is being tested'])
      return true
    })
  })

  it('stays closed when the provider refuses requests', async () => {
    const order = { id: newId('payment'), intent: 'pi_none' } as Parameters<Provider['refund']>[0]
    for (let tries = 0; tries < 3; tries++)
      await provider.refund(order, { id: newId('refund'), amountMinor: 1 }).catch(() => {})
    expect(await ask()).to.equal('answered')
  })
})

describe('the address of Stripe', () => {
  it('may be one of IPv6', async () => {
    const sandbox = await createSandbox({ host: '::1' })
    const address = `http://[::1]:${new URL(sandbox.url).port}`
    try {
      const provider = providerOf(stripeAt(address, stripeAccountAt(address).key))!
      expect(await provider.customerOf(newId('account'), null)).to.match(/^cus_/)
    } finally {
      await sandbox.close()
    }
  })
})
