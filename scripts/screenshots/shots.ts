import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { createKey } from '../../src/shared/identity/api-keys.ts'
import { PASSWORD } from '../harness/console-gateway.ts'
import type { ConsoleGateway } from '../harness/console-gateway.ts'
import { send } from '../harness/http.ts'
import { stripeAccountAt } from '../harness/stripe-sandbox.ts'
import { inventCalls } from './history.ts'

/** A page to take a picture of. `ready` waits for what it shows, and may press something first. */
export type Shot = { name: string; path: string; ready?: (page: Page) => Promise<unknown> }

/** The account of the pictures: an operator with a history. */
export const OPERATOR = 'operator@example.com'

/** The name of an account at the sandbox's Stripe, and what the gateway needs to sell there. */
const STRIPE = `pictures${Date.now()}`
export const SHOP = {
  PAYMENTS: 'stripe',
  STRIPE_SECRET_KEY: `sk_test_${STRIPE}`,
  STRIPE_WEBHOOK_SECRET: 'whsec_of_the_pictures',
}

const CALLS = 1200

/** What customers did before the pictures are taken. @returns the ids that pages are named by. */
async function live(gateway: ConsoleGateway) {
  const admin = await gateway.person(OPERATOR, { credits: 25_000, admin: true })
  await gateway.db('users').where({ email: OPERATOR }).update({ email_verified_at: new Date() })
  const grace = await gateway.person('grace@example.com', { credits: 1200 })
  for (const name of ['alan', 'edsger', 'barbara', 'katherine'])
    await gateway.person(`${name}@example.com`, { credits: 300 * name.length })
  const { id: keyId, secret } = await createKey(gateway.db, admin.id, 'production server')
  await createKey(gateway.db, admin.id, 'laptop')
  await inventCalls(gateway.db, admin.id, keyId, CALLS)
  const ask = async (method: string, path: string, body: object | undefined, key: string) =>
    (await send(method, `${gateway.url}${path}`, { key, body })).json
  const budget = { credits: 500, period: 'month' }
  const { secret: small } = await ask('POST', '/api/keys', { name: 'agent', budget }, admin.token)
  const call = (path: string, body: object, key = secret) => send('POST', `${gateway.url}/v1/${path}`, { key, body })
  const video = await call('videos/generations', { model: 'sandbox-video', prompt: 'waves at dusk', duration: 1 })
  for (const prompt of ['a fox in snow', 'a lighthouse at dusk', 'a boat on a lake'])
    await call('images/generations', { model: 'sandbox-image', prompt }, small as string)
  await call('images/generations', { model: 'sandbox-image', prompt: 'a fox [status 500]' })
  await call('chat/completions', { model: 'dear-chat', messages: [{ role: 'user', content: 'Hello!' }] })
  await call('images/generations', { model: 'sandbox-image', prompt: '' })

  const { data } = await ask('GET', '/api/operator/accounts?search=grace', undefined, admin.token)
  const account = data[0].id as string
  const operator = (path: string, body: object) => ask('POST', `/api/operator/${path}`, body, admin.token)
  await operator(`accounts/${account}/grants`, { amount: 500, origin: 'bonus', note: 'thanks for the report' })
  await operator('codes', { credits: 250, uses: 20 })
  for (const { token } of [admin, grace]) {
    const { payment } = await ask('POST', '/api/billing/checkout', { pack: 'starter' }, token)
    const { session } = await gateway.db('payments').orderBy('id', 'desc').first<{ session: string }>('session')
    await stripeAccountAt(gateway.sandbox.url, STRIPE).pay(session, 'card', { keep: true })
    await ask('POST', `/api/billing/payments/${payment.id}/sync`, {}, token)
  }
  const { data: payments } = await ask('GET', '/api/billing/payments', undefined, grace.token)
  await ask('POST', '/api/email/change', { email: 'ada@new.example.com', password: PASSWORD }, admin.token)
  const newAddress = new URL(await gateway.link('ada@new.example.com'))
  return {
    newAddress: `${newAddress.pathname}${newAddress.hash}`,
    account,
    call: video.headers.get('x-call-id')!,
    payment: payments[0].id as string,
  }
}

const shows = (selector: string) => (page: Page) => page.locator(selector).first().waitFor()

/** Asks something in the playground, and waits for every answer. */
const asked =
  (question: string, answers = 1) =>
  async (page: Page): Promise<void> => {
    await page.getByLabel('Message').fill(question)
    await page.getByRole('button', { name: 'Send' }).click()
    await page
      .getByTestId('receipt')
      .nth(answers - 1)
      .waitFor()
  }

const QUESTION = 'What is a prepaid credit, in one sentence?'

/** Pages for everybody. */
export const OUTSIDE: Shot[] = [
  { name: 'sign-in', path: '/sign-in' },
  { name: 'sign-up', path: '/sign-up' },
  { name: 'forgot', path: '/forgot' },
  { name: 'verify', path: `/verify#token=${'x'.repeat(43)}` },
  { name: 'reset', path: '/reset#token=x' },
  { name: 'not-found', path: `/${randomUUID()}` },
]

/** Pages for who is signed in, in a gateway that has been used. */
export async function inside(gateway: ConsoleGateway): Promise<Shot[]> {
  const { newAddress, account, call, payment } = await live(gateway)
  const sections = ['', 'accounts', 'calls', 'payments', 'codes', 'debts', 'mails', 'upstreams', 'margins', 'banner']
  return [
    { name: 'new-address', path: newAddress, ready: (page) => page.getByText('ada@new.example.com').waitFor() },
    { name: 'overview', path: '/overview', ready: shows('.plot canvas') },
    { name: 'playground', path: '/playground/chat', ready: asked(QUESTION) },
    {
      name: 'playground-compare',
      path: '/playground/chat?model=sandbox-chat&with=dear-chat',
      ready: asked(QUESTION, 2),
    },
    { name: 'playground-image', path: '/playground/image' },
    { name: 'playground-video', path: '/playground/video' },
    { name: 'models', path: '/models', ready: shows('.models li') },
    { name: 'model', path: '/models/sandbox-chat' },
    { name: 'calls', path: '/calls', ready: shows('table') },
    { name: 'call', path: `/calls/${call}`, ready: (page) => page.getByTestId('trail').waitFor() },
    { name: 'gallery', path: '/gallery', ready: shows('.gallery img') },
    { name: 'keys', path: '/keys', ready: shows('table') },
    {
      name: 'new-key',
      path: '/keys',
      ready: async (page) => {
        await page.getByRole('button', { name: 'New key' }).click()
        await page.getByRole('dialog').getByText('Limits', { exact: true }).click()
      },
    },
    {
      name: 'new-webhook',
      path: '/webhooks',
      ready: (page) => page.getByRole('button', { name: 'New webhook' }).click(),
    },
    { name: 'credits', path: '/credits', ready: (page) => page.getByTestId('ledger').waitFor() },
    { name: 'settings', path: '/settings', ready: shows('.sessions li') },
    {
      name: 'delete-account',
      path: '/settings',
      ready: (page) => page.getByRole('button', { name: /^Delete my account/ }).click(),
    },
    ...[...sections, 'catalogue', 'actions'].map((section) => ({
      name: section === '' ? 'operator' : `operator-${section}`,
      path: `/operator/${section}`,
    })),
    { name: 'operator-account', path: `/operator/accounts/${account}`, ready: shows('table') },
    { name: 'operator-payment', path: `/operator/payments/${payment}`, ready: shows('table') },
  ]
}
