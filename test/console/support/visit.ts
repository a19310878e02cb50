import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openPage } from '../../support/browser.ts'
import type { ConsoleGateway } from '../../../scripts/harness/console-gateway.ts'
import { PATIENCE_MS, until } from '../../../scripts/harness/until.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The screen of a small phone, in pixels. */
export const PHONE = { width: 360, height: 740 }

/**
 * A page of the console in a browser of its own, and its faults: breaches of its policy, errors, unexpected requests.
 */
export type Visit = {
  page: Page
  /** Those that were not allowed. */
  faults: () => string[]
  /** Allows faults: a refused request is an error in the browser's log, too. */
  allow: (expected: RegExp) => void
  /** Opens a page by its path, and waits for its heading. */
  open: (path: string, heading: string) => Promise<void>
  /** Goes there from a page with another heading, as by a link: in the same document. */
  follow: (path: string, heading: string) => Promise<void>
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
  const allowed: RegExp[] = []
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} ${message.location().url}`)
  })
  return {
    page,
    close,
    allow: (expected) => allowed.push(expected),
    faults: () => faults.filter((fault) => !allowed.some((expected) => expected.test(fault))),
    open: async (path, heading) => {
      await page.goto(`${gateway.url}${path}`)
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    },
    follow: async (path, heading) => {
      await page.evaluate(`history.pushState(null, '', '${path}'), dispatchEvent(new PopStateEvent('popstate'))`)
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    },
  }
}

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/** The serious and critical faults that axe finds in the page as it is now, by all rules or by these. */
export async function seriousFaults(page: Page, rules: string[] = []): Promise<string[]> {
  // Evaluated by the debugger, to which the page's policy does not apply. It is half a megabyte: once a page is enough.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE)
  // Selectors are not shown here; what is preloaded is for rules that are not serious; and there are no frames.
  const cheap = { resultTypes: ['violations'], selectors: false, preload: false, iframes: false }
  const options = { ...cheap, ...(rules.length > 0 && { runOnly: rules }) }
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

/** Expects that nothing is wider than the screen, and that axe finds no serious fault. */
export async function looksGood(page: Page): Promise<void> {
  await fitsTheScreen(page)
  expect(await seriousFaults(page), page.url()).to.deep.equal([])
}

/** Waits for a condition in a page. Playwright's own function evaluates text in the page, which its policy refuses. */
export const holds = (page: Page, question: string): Promise<unknown> =>
  until(`${question} at ${page.url()}`, () => page.evaluate(question))

/** Waits until nothing is wider than the screen: a chart follows a change of the width in a later frame. */
export const fitsTheScreen = (page: Page): Promise<unknown> =>
  holds(page, 'document.documentElement.scrollWidth <= document.documentElement.clientWidth')
