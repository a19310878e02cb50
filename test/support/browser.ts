import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterFile } from '../../scripts/harness/after-file.ts'
import { browserProgram } from '../../scripts/services/processes.ts'
import { PREPARATION } from '../../scripts/testing/clients.ts'
import { tellAtFailure } from './at-failure.ts'

/**
 * Parts of the browser that no page needs. Without the first line a window shows two pages of its own below its address
 * bar, and starts a process for a next page: half of what a window costs. The others are those that Playwright switches
 * off, which this list replaces.
 */
const OFF = 'WebUIOmniboxPopup WebUIOmniboxAimPopup SpareRendererForSitePerProcess'
  .concat(' AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades LensOverlay')
  .concat(' HttpsFirstBalancedModeAutoEnable MediaRouter PaintHolding ThirdPartyStoragePartitioning')
  .concat(' AvoidCorsURLLoaderRestartOnRedirect OptimizationHints NetworkTimeServiceQuerying AimEnabled')
  .concat(' PreconnectToSearch')
  .replaceAll(' ', ',')

const FLAGS = [
  `--disable-features=${OFF}`,
  ...(
    '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking ' +
    '--disable-component-update --disable-sync'
  ).split(' '),
]

let browser: Promise<Browser | null> | undefined

async function launch(): Promise<Browser | null> {
  const executablePath = browserProgram()
  return executablePath === undefined ? null : chromium.launch({ executablePath, args: FLAGS })
}

/**
 * The headless Chromium of this process, started at first use. Without one the tests are skipped, with a message.
 * In a worker of mocha it ends with the worker.
 */
export async function openBrowser(test: Mocha.Context): Promise<Browser> {
  // The first file may build the console.
  test.timeout(300_000)
  browser ??= launch()
  const opened = await browser
  if (opened === null) {
    process.stderr.write(`    skipped: there is no Chromium. Install it with \`${PREPARATION}\`.\n`)
    return test.skip()
  }
  if (process.env['MOCHA_WORKER_ID'] === undefined) afterFile(endBrowser)
  return opened
}

async function endBrowser(): Promise<void> {
  const opened = await browser
  browser = undefined
  await opened?.close()
}

/** Closes the pages that a file of tests has left open. */
export async function closeBrowser(): Promise<void> {
  const opened = await browser
  if (opened?.isConnected()) await Promise.all(opened.contexts().map((context) => context.close()))
}

/** A page in a context of its own, and its faults: errors, breaches of its policy, requests to other sites. */
export type WatchedPage = { page: Page; faults: string[]; close: () => Promise<void> }

/** Nothing fades on it: axe would measure a colour half way between two. */
export async function openPage(
  opened: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await opened.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) faults.push(`asks ${request.url()}`)
  })
  context.on(
    'close',
    tellAtFailure(async () => `${page.url()}\n${await page.innerText('body')}\n${faults.join('\n')}`),
  )
  return { page, faults, close: () => context.close() }
}
