import Stripe from 'stripe'
import { stripeAccountAt } from '../../../scripts/harness/stripe-sandbox.ts'
import type { Requests } from '../support/visitor.ts'

const NAME = 'openapi'
const SECRET = 'whsec_of_the_document'

/** The id of a payment as its row has it. */
const bare = (id: string): string => id.slice('pay_'.length)

/** Buying credits, and what operators do about it. */
export const requests: Requests = {
  settings: { PAYMENTS: 'stripe', STRIPE_SECRET_KEY: `sk_test_${NAME}`, STRIPE_WEBHOOK_SECRET: SECRET },
  send: async ({ client, signUp, gateway: { db, sandbox } }) => {
    const stripe = stripeAccountAt(sandbox.url, NAME)
    const { me } = await signUp()
    const { me: operator } = await signUp({ role: 'admin' })

    await me('GET', '/api/billing')
    const { payment } = (await me('POST', '/api/billing/checkout', { pack: 'starter' })).json
    const { session } = (await db('payments')
      .where({ id: bare(payment.id) })
      .first<{ session: string }>('session'))!
    await stripe.pay(session, 'card', { keep: true })
    await me('POST', `/api/billing/payments/${payment.id}/sync`)
    await me('GET', '/api/billing/payments')
    await me('GET', `/api/billing/payments/${payment.id}`)
    const autoTopUp = { threshold: 100, pack: 'starter', monthlyCapMinor: 5000 }
    await me('PUT', '/api/billing/settings', { lowBalance: { threshold: 50 }, autoTopUp })
    await me('DELETE', '/api/billing/card')

    const event = JSON.stringify({ id: 'evt_1', object: 'event', type: 'ping', data: { object: {} }, livemode: false })
    const signature = await Stripe.webhooks.generateTestHeaderStringAsync({ payload: event, secret: SECRET })
    await client()('POST', '/hooks/stripe', event, { 'stripe-signature': signature })

    const { id, code } = (await operator('POST', '/api/operator/codes', { credits: 5, uses: 2 })).json
    await me('POST', '/api/billing/redeem', { code })
    await operator('GET', '/api/operator/codes')
    await operator('POST', `/api/operator/codes/${id}/disable`)

    await operator('GET', '/api/operator/payments?search=example.com&status=paid')
    await operator('GET', `/api/operator/payments/${payment.id}`)
    await operator('POST', `/api/operator/payments/${payment.id}/sync`)
    await operator('POST', `/api/operator/payments/${payment.id}/refund`, { amountMinor: 100 })
    const { payment: given } = (await me('POST', '/api/billing/checkout', { pack: 'starter' })).json
    await me('POST', `/api/billing/payments/${given.id}/cancel`)
    const { payment: other } = (await me('POST', '/api/billing/checkout', { amountMinor: 500 })).json
    await db('payments')
      .where({ id: bare(other.id) })
      .update({ status: 'review', review_reason: 'amount' })
    await operator('POST', `/api/operator/payments/${other.id}/resolve`, { verdict: 'grant' })
    await operator('GET', '/api/operator/debts')
    const [account] = (await operator('GET', '/api/operator/payments')).json.data
    await operator('POST', `/api/operator/accounts/${account.accountId}/forgive-debt`)
  },
}
