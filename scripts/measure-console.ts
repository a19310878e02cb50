import './require-node.ts'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'
import { createKey } from '../src/shared/accounts/api-keys.ts'
import { PASSWORD, startWorld } from '../test/console/support/world.ts'
import type { World } from '../test/console/support/world.ts'
import { inventCalls } from './console/history.ts'
import { findProgram } from './services/processes.ts'

/**
 * `npx tsx scripts/measure-console.ts`: how long the overview of an account with 100,000 calls in 30 days takes from a
 * press on its address to its content: the numbers, the chart and the latest calls. Exit code 1 over 300 ms (median).
 */

const CALLS = 100_000
const LOADS = 9
const MOST_MS = 300

const email = 'busy@example.com'

async function prepare(world: World): Promise<void> {
  const { id } = await world.person(email, { credits: 50_000 })
  const { id: keyId } = await createKey(world.db, id, 'server')
  await inventCalls(world.db, id, keyId, CALLS)
}

/** One load in a window without a cache, in ms since the navigation began. */
async function load(browser: Browser, world: World, state: string): Promise<number> {
  const context = await browser.newContext()
  await context.addInitScript(`localStorage.setItem('tollgate.session', ${JSON.stringify(state)})`)
  const page = await context.newPage()
  await page.goto(`${world.url}/overview`, { waitUntil: 'commit' })
  await Promise.all([page.locator('.plot canvas').waitFor(), page.locator('tbody tr').first().waitFor()])
  await page.locator('.tile strong', { hasText: /^\d/ }).nth(3).waitFor()
  const ms = await page.evaluate<number>('performance.now()')
  await context.close()
  return ms
}

const world = await startWorld()
try {
  await prepare(world)
  const browser = await chromium.launch({
    executablePath: findProgram('chromium'),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  const answer = await fetch(`${world.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: PASSWORD }),
  })
  const { token } = (await answer.json()) as { token: string }
  const times: number[] = []
  for (let round = 0; round < LOADS; round++) times.push(await load(browser, world, token))
  await browser.close()
  const sorted = times.toSorted((a, b) => a - b)
  const median = Math.round(sorted[Math.floor(LOADS / 2)]!)
  console.log(
    `${CALLS} calls: content after ${median} ms (median of ${LOADS}; ${sorted.map((ms) => Math.round(ms)).join(', ')})`,
  )
  process.exitCode = median > MOST_MS ? 1 : 0
} finally {
  await world.stop()
}
process.exit()
