import '../require-node.ts'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { OPERATOR, OUTSIDE, SHOP, inside } from './shots.ts'
import type { Shot } from './shots.ts'
import { PASSWORD, startConsoleGateway } from '../harness/console-gateway.ts'
import type { ConsoleGateway } from '../harness/console-gateway.ts'
import { root } from '../folders.ts'
import { readOptions } from '../options.ts'
import { findProgram } from '../services/processes.ts'
import { until } from '../harness/until.ts'

/**
 * `npx tsx scripts/screenshots/main.ts [--readme] [part of a name]`: takes pictures of every page, in both themes and
 * at three widths, into .screenshots, which git ignores, and names pages that are wider than their screen or log an
 * error. With `--readme` it takes the two pictures of README.md again, into docs/screenshots.
 */
const {
  values: { readme },
  positionals: [only = ''],
} = readOptions('npx tsx scripts/screenshots/main.ts [--readme] [PART OF A NAME]', {
  allowPositionals: true,
  options: { readme: { type: 'boolean', default: false } },
})

/** The pictures that README.md shows: the only ones in the repository. */
const README = ['overview-wide-light', 'call-wide-dark']

const folder = join(root, readme ? 'docs/screenshots' : '.screenshots')

/** Whether the run takes pictures of a page. */
const isWanted = ({ name }: Shot): boolean =>
  readme ? README.some((picture) => picture.startsWith(`${name}-wide-`)) : name.includes(only)

const FORMS = [
  { form: 'wide', viewport: { width: 1440, height: 900 } },
  { form: 'tablet', viewport: { width: 834, height: 1112 } },
  { form: 'phone', viewport: { width: 360, height: 740 } },
] as const

const THEMES = ['light', 'dark'] as const

/** Of WebP, out of 100: text stays sharp. */
const QUALITY = 82

async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('E-mail address').fill(OPERATOR)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

/** Takes a page in both themes. A picture is taken by the debugger: playwright itself knows no WebP. */
async function take(
  context: BrowserContext,
  page: Page,
  gateway: ConsoleGateway,
  form: string,
  shot: Shot,
): Promise<void> {
  const { name, path, ready } = shot
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.goto(`${gateway.url}${path}`)
  await page.locator('h1').first().waitFor()
  await ready?.(page).catch((error: Error) => console.log(`  ${name}: ${error.message.split('\n')[0]}`))
  await until('no place is held any more', async () => (await page.locator('.waiting').count()) === 0)
  const loaded = `document.readyState === 'complete' && [...document.images].every(({ complete }) => complete)`
  await until('its pictures are there', () => page.evaluate<boolean>(loaded))
  const wide = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  if (wide > 0) console.log(`  ${name}-${form}: ${wide} px too wide`)
  const devtools = await context.newCDPSession(page)
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme })
    await page.locator(`html[data-theme=${theme}]`).waitFor()
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const picture = `${name}-${form}-${theme}`
    if (readme && !README.includes(picture)) continue
    const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
    writeFileSync(join(folder, `${picture}.webp`), Buffer.from(data, 'base64'))
  }
  await devtools.detach()
}

async function takeAll(browser: Browser, gateway: ConsoleGateway): Promise<void> {
  const pages = await inside(gateway)
  for (const { form, viewport } of readme ? FORMS.slice(0, 1) : FORMS) {
    const context = await browser.newContext({ viewport, locale: 'en-GB' })
    const page = await context.newPage()
    page.setDefaultTimeout(8000)
    page.on('console', (message) => {
      if (message.type() === 'error') console.log(`  ${form}: ${message.text()} ${page.url()}`)
    })
    for (const shot of OUTSIDE.filter(isWanted)) await take(context, page, gateway, form, shot)
    await signIn(page, gateway.url)
    for (const shot of pages.filter(isWanted)) await take(context, page, gateway, form, shot)
    await context.close()
  }
}

if (only === '' && !readme) rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const gateway = await startConsoleGateway(SHOP)
const browser = await chromium.launch({
  executablePath: findProgram('chromium'),
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  await takeAll(browser, gateway)
} finally {
  await browser.close()
  await gateway.stop()
}
process.exit()
