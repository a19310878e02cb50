import type { Page } from 'playwright-core'
import type { ConsoleGateway } from '../../../scripts/harness/console-gateway.ts'
import { post, send } from '../../../scripts/harness/http.ts'
import { newId, parseId } from '../../../src/shared/platform/ids.ts'
import { grantCredits } from '../../../src/shared/operators/changes.ts'
import type { Language } from '../../../src/shared/terms/languages.ts'
import { until } from '../../../scripts/harness/until.ts'

/** A page: its path, its heading, and what a user typed that it shows. */
export type ConsolePage = { path: string; heading: string; typed?: string | undefined }

const pagesOf = (list: [path: string, heading: string, typed?: string][]): ConsolePage[] =>
  list.map(([path, heading, typed]) => ({ path, heading, typed }))

/** What a customer may call themselves, their key and their model. */
const SCRIPT = '<img src=x onerror="document.title=1"><script>document.title=1</script>'

/** Every page for those who are not signed in. */
export const OUTSIDE = pagesOf([
  ['/sign-in', 'Sign in'],
  ['/sign-up', 'Create an account'],
  ['/forgot', 'Forgot your password?'],
  [`/verify#token=${'x'.repeat(43)}`, 'Verify your e-mail address'],
  [`/reset#token=${'x'.repeat(43)}`, 'This link no longer works'],
  [`/new-address#token=${'x'.repeat(43)}`, 'This link no longer works'],
  ['/access', 'Open the link in our e-mail'],
  ['/sign-in/done?problem=invalid_ticket', 'You are not signed in'],
  [`/sign-in/mail#token=${'x'.repeat(43)}`, 'Complete your sign-in'],
  [`/claim#token=${'x'.repeat(43)}`, 'Claim your account'],
  [`/invitation#token=${'x'.repeat(43)}`, 'You cannot use this invitation'],
])
/**
 * The others, of which no two neighbours have the same heading. `:call`, `:account`, `:webhook` and `:house` (a webhook
 * of the operators') stand for ids.
 */
export const INSIDE = pagesOf([
  ['/overview', 'Overview'],
  ['/calls', 'Calls', SCRIPT],
  ['/keys', 'Keys', SCRIPT.slice(0, 60)],
  ['/calls/:call', 'Calls'],
  ['/playground/chat', 'Playground'],
  ['/members', 'Members'],
  ['/playground/chat?model=sandbox-chat&with=dear-chat', 'Playground'],
  ['/webhooks', 'Webhooks'],
  ['/playground/image', 'Playground'],
  ['/webhooks/:webhook', 'Webhook'],
  ['/playground/video', 'Playground'],
  ['/credits', 'Credits', SCRIPT],
  ['/models', 'Models'],
  ['/models/sandbox-chat', 'sandbox-chat'],
  ['/gallery', 'Gallery'],
  ['/settings', 'Settings'],
  ['/operator', 'Operator home'],
  ['/operator/accounts/:account', 'Account', SCRIPT],
  ['/operator/codes', 'Codes'],
  ['/operator/debts', 'Debts'],
  ['/operator/calls/:call', 'Calls'],
  ['/operator/accounts', 'Accounts'],
  ['/operator/calls', 'Calls'],
  ['/operator/margins', 'Margins'],
  ['/operator/mails', 'Undelivered e-mails'],
  ['/operator/banner', 'Banner'],
  ['/operator/webhooks', 'Webhooks'],
  ['/operator/upstreams', 'Upstreams'],
  ['/operator/webhooks/:house', 'Webhook'],
  ['/operator/catalogue', 'Catalogue'],
  ['/operator/actions', 'Audit log'],
])

/** An operator's account with a call of each outcome, and the token of their session. */
export type LivedIn = { token: string; address: (path: string) => string; call: string }

/** Fills a gateway for these pages. `address` puts its ids into a path. */
export async function liveIn(gateway: ConsoleGateway, email: string, language?: Language): Promise<LivedIn> {
  const { token } = await gateway.person(email, { credits: 5000, admin: true, language })
  const { json } = await post(`${gateway.url}/api/keys`, token, { name: SCRIPT.slice(0, 60) })
  const { headers } = await post(`${gateway.url}/v1/images/generations`, json.secret as string, {
    model: 'sandbox-image',
    prompt: 'x',
  })
  const call = headers.get('x-call-id')!
  const failing = { model: 'sandbox-image', prompt: 'y [status 500]' }
  await post(`${gateway.url}/v1/images/generations`, json.secret as string, failing)
  await post(`${gateway.url}/v1/chat/completions`, json.secret as string, { model: SCRIPT, messages: [] })
  const account = (await send('GET', `${gateway.url}/api/account`, { key: token })).json.user.id as string
  await send('PATCH', `${gateway.url}/api/auth/me`, { key: token, body: { displayName: SCRIPT.slice(0, 60) } })
  const accountId = parseId('account', account)!
  await grantCredits(gateway.db, null, { id: newId('grant'), accountId, amount: 5, origin: 'bonus', note: SCRIPT })
  const ids = { ':call': call, ':account': account, ...(await tellOf(gateway, token)) }
  const address = (path: string) => path.replace(/:(call|account|webhook|house)\b/, (name) => ids[name as ':call'])
  return { token, call, address }
}

/** A webhook of the account and one of the operators', with an event each that nobody takes. */
async function tellOf({ url }: ConsoleGateway, key: string): Promise<Record<':webhook' | ':house', string>> {
  const make = async (path: string, types: string[]): Promise<string> => {
    const { webhook } = (await post(`${url}${path}`, key, { url: 'https://receiver.example/events', types })).json
    await post(`${url}${path}/${webhook.id}/test`, key, {})
    return webhook.id as string
  }
  return {
    ':webhook': await make('/api/webhooks', ['call.succeeded']),
    ':house': await make('/api/operator/webhooks', ['mail.dead']),
  }
}

/** Waits until everything that was requested has arrived. */
export const settled = (page: Page): Promise<unknown> =>
  until('no place is held any more', async () => (await page.locator('.waiting').count()) === 0)
