import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { findProgram } from '../../scripts/services/processes.ts'
import { runTool } from '../../scripts/tools.ts'
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
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const find = (): string | undefined =>
  findProgram('chromium') ?? findProgram('chromium-browser') ?? findProgram('google-chrome')

/** Debian's package, if this process can install it: CI machines start empty. */
async function install(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return undefined
  const packages = ['install', '-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', 'chromium']
  process.stderr.write('installing chromium for the tests of the pages\n')
  if (!(await runTool('apt-get', packages)).ok) {
    await runTool('apt-get', ['update', '-q'])
    await runTool('apt-get', packages)
  }
  return find()
}

let browser: Promise<Browser | null> | undefined

async function launch(): Promise<Browser | null> {
  const executablePath = find() ?? (await install())
  return executablePath === undefined ? null : chromium.launch({ executablePath, args: FLAGS })
}

/** Starts a headless Chromium for a file of tests. Without one they are skipped, with a message. */
export async function openBrowser(test: Mocha.Context): Promise<Browser> {
  test.timeout(300_000)
  browser ??= launch()
  const opened = await browser
  if (opened) return opened
  process.stderr.write('skipped: there is no chromium on this machine and it cannot be installed here\n')
  return test.skip()
}

/**
 * Closes the browser after a file of tests, if it was started. In a worker of mocha only what the file opened: the next
 * file of the worker has the same browser, which ends with the worker.
 */
export async function closeBrowser(): Promise<void> {
  const opened = await browser
  if (opened?.isConnected() && process.env['MOCHA_WORKER_ID'] !== undefined) {
    await Promise.all(opened.contexts().map((context) => context.close()))
    return
  }
  browser = undefined
  await opened?.close()
}

/** A page in a context of its own, and its faults: errors, breaches of its policy, requests to other sites. */
export type WatchedPage = { page: Page; faults: string[]; close: () => Promise<void> }

export async function openPage(
  opened: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await opened.newContext(options)
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
