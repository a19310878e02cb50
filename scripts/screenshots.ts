import './require-node.ts'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { createKey } from '../src/shared/accounts/api-keys.ts'
import { PASSWORD, startWorld } from './harness/console-world.ts'
import type { World } from './harness/console-world.ts'
import { send } from './harness/http.ts'
import { inventCalls } from './console/history.ts'
import { root } from './folders.ts'
import { findProgram } from './services/processes.ts'

/**
 * `npx tsx scripts/screenshots.ts [part of a name]`: takes pictures of every page, in both themes and on a phone,
 * into docs/screenshots.
 */

const CALLS = 1200
const folder = join(root, 'docs/screenshots')
const only = process.argv[2] ?? ''

type Shot = { name: string; path: string; before?: (page: Page) => Promise<void> }

async function shots(world: World): Promise<Shot[]> {
  const admin = await world.person('operator@example.com', { credits: 25_000, admin: true })
  const other = await world.person('grace@example.com', { credits: 1200 })
  await world.person('new@example.com')
  const { id: keyId, secret } = await createKey(world.db, admin.id, 'production server')
  await createKey(world.db, admin.id, 'laptop')
  await inventCalls(world.db, admin.id, keyId, CALLS)
  const call = (path: string, body: object) => send('POST', `${world.url}/v1/${path}`, { key: secret, body })
  const video = await call('videos/generations', { model: 'sandbox-video', prompt: 'waves at dusk', duration: 1 })
  await call('images/generations', { model: 'sandbox-image', prompt: 'a fox [status 500]' })
  await call('chat/completions', { model: 'dear-chat', messages: [{ role: 'user', content: 'Hello!' }] })
  await call('images/generations', { model: 'sandbox-image', prompt: '' })
  const operator = (path: string, body: object) =>
    send('POST', `${world.url}/api/operator/${path}`, { key: admin.token, body })
  const { json } = await send('GET', `${world.url}/api/operator/accounts?search=grace`, { key: admin.token })
  const otherId = (json?.data?.[0]?.id ?? '') as string
  await operator(`accounts/${otherId}/grants`, { amount: 500, origin: 'bonus', note: 'thanks for the report' })
  void other
  return [
    { name: 'overview', path: '/overview', before: (page) => page.locator('.plot canvas').waitFor() },
    { name: 'calls', path: '/calls', before: (page) => page.locator('table').waitFor() },
    {
      name: 'call',
      path: `/calls/${video.headers.get('x-call-id')}`,
      before: (page) => page.getByTestId('trail').waitFor(),
    },
    { name: 'playground', path: '/playground/chat' },
    { name: 'playground-image', path: '/playground/image' },
    { name: 'keys', path: '/keys', before: (page) => page.locator('table').waitFor() },
    { name: 'credits', path: '/credits', before: (page) => page.getByTestId('ledger').waitFor() },
    { name: 'models', path: '/models', before: (page) => page.locator('.models li').first().waitFor() },
    { name: 'model', path: '/models/sandbox-chat' },
    { name: 'gallery', path: '/gallery', before: (page) => page.locator('.gallery li').first().waitFor() },
    { name: 'settings', path: '/settings', before: (page) => page.locator('.sessions li').first().waitFor() },
    { name: 'operator', path: '/operator', before: (page) => page.locator('table').first().waitFor() },
    {
      name: 'operator-account',
      path: `/operator/accounts/${otherId}`,
      before: (page) => page.locator('table').first().waitFor(),
    },
  ]
}

const FORMS = [
  { form: 'light', colorScheme: 'light', viewport: { width: 1280, height: 820 } },
  { form: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 820 } },
  { form: 'phone', colorScheme: 'light', viewport: { width: 360, height: 740 } },
] as const

async function take(world: World): Promise<void> {
  const inside = await shots(world)
  const outside: Shot[] = [
    { name: 'sign-in', path: '/sign-in' },
    { name: 'sign-up', path: '/sign-up' },
    { name: 'verify', path: '/verify#token=x' },
  ]
  const browser = await chromium.launch({
    executablePath: findProgram('chromium'),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  for (const { form, colorScheme, viewport } of FORMS) {
    const context = await browser.newContext({ colorScheme, viewport, locale: 'en-GB' })
    const page = await context.newPage()
    page.setDefaultTimeout(8000)
    page.on('console', (message) => {
      if (message.type() === 'error') console.log(`  ${form}: ${message.text()}`)
    })
    const picture = async ({ name, path, before }: Shot): Promise<void> => {
      if (!name.includes(only)) return
      await page.goto(`${world.url}${path}`)
      await page.locator('h1').first().waitFor()
      await before?.(page).catch((error: Error) => console.log(`  ${name}: ${error.message.split('\n')[0]}`))
      await page.waitForLoadState('load')
      await page.screenshot({ path: join(folder, `${name}-${form}.png`) })
      const wide = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (wide > 0) console.log(`  ${name}-${form}: ${wide} px too wide`)
    }
    for (const shot of outside) await picture(shot)
    await page.goto(`${world.url}/sign-in`)
    await page.getByLabel('E-mail address').fill('operator@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const shot of inside) await picture(shot)
    await context.close()
  }
  await browser.close()
}

if (only === '') rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const world = await startWorld()
try {
  await take(world)
} finally {
  await world.stop()
}
process.exit()
