import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openPage } from '../../support/browser.ts'
import { PASSWORD } from '../../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../../scripts/harness/console-gateway.ts'
import { PATIENCE_MS, until } from '../../../scripts/harness/until.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * A page of the console in a browser of its own, and its faults: breaches of its policy, errors, unexpected requests.
 */
export type Visit = {
  page: Page
  /** Refused requests are errors in the browser's log. A test that expects them says which. */
  faults: (expected?: RegExp) => string[]
  signIn: (email: string) => Promise<void>
  open: (path: string, heading: string) => Promise<void>
  close: () => Promise<void>
}

/** Opens a browser's window on a gateway. */
export async function visit(
  browser: Browser,
  gateway: ConsoleGateway,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const { page, faults, close } = await openPage(browser, gateway.url, {
    viewport: { width: 1280, height: 820 },
    ...options,
  })
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} ${message.location().url}`)
  })
  const open = async (path: string, heading: string): Promise<void> => {
    await page.goto(`${gateway.url}${path}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  }
  return {
    page,
    open,
    close,
    faults: (expected) => faults.filter((fault) => !expected?.test(fault)),
    signIn: async (email) => {
      await open('/sign-in', 'Sign in')
      await page.getByLabel('E-mail address').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    },
  }
}

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/** The serious and critical faults that axe finds in the page as it is now, by all rules or by these. */
export async function seriousFaults(page: Page, rules: string[] = []): Promise<string[]> {
  // Evaluated by the debugger, to which the page's policy does not apply. It is half a megabyte: once a page is enough.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE)
  const options = { resultTypes: ['violations'], ...(rules.length > 0 && { runOnly: rules }) }
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, ${JSON.stringify(options)})`,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html, failureSummary }) => `${html} ${failureSummary}`)
          .join('; ')
          .slice(0, 600)}`,
    )
}

/** Waits for a condition in a page. Playwright's own function evaluates text in the page, which its policy refuses. */
export const holds = (page: Page, question: string): Promise<unknown> =>
  until(`${question} at ${page.url()}`, () => page.evaluate(question))

/** Waits until nothing is wider than the screen: a chart follows a change of the width in a later frame. */
export const fitsTheScreen = (page: Page): Promise<unknown> =>
  holds(page, 'document.documentElement.scrollWidth <= document.documentElement.clientWidth')
