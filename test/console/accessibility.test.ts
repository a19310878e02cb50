import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { startConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import type { ConsoleGateway } from '../../scripts/harness/console-gateway.ts'
import { INSIDE, OUTSIDE, liveIn, settled } from './support/every-page.ts'
import type { LivedIn } from './support/every-page.ts'
import { fitsTheScreen, seriousFaults, visit } from './support/visit.ts'
import type { Visit } from './support/visit.ts'

const SCREENS = [
  { width: 1440, height: 900 },
  { width: 834, height: 1112 },
  { width: 360, height: 740 },
]

const EMAIL = 'accessible@example.com'

describe('every page of the console', () => {
  let gateway: ConsoleGateway
  let browser: Browser
  let lived: LivedIn
  let visited: Visit
  before(async function () {
    browser = await openBrowser(this)
    gateway = await startConsoleGateway()
    lived = await liveIn(gateway, EMAIL)
    visited = await visit(browser, gateway, { reducedMotion: 'reduce' })
  })
  after(async () => {
    await closeBrowser()
    await gateway?.stop()
  })

  const looks = ([path, heading]: [string, string]): void => {
    it(`has no serious fault and fits screens of three widths, in light and dark: ${path}`, async () => {
      const { page, open, faults } = visited
      await page.setViewportSize(SCREENS[0]!)
      await page.emulateMedia({ colorScheme: 'light' })
      await open(lived.address(path), heading)
      await settled(page)
      for (const screen of SCREENS) {
        await page.setViewportSize(screen)
        await fitsTheScreen(page)
        expect(await seriousFaults(page), `${screen.width} pixels wide`).to.deep.equal([])
      }
      // Colours are all that a theme changes.
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.locator('html[data-theme=dark]').waitFor()
      for (const screen of SCREENS.toReversed()) {
        await page.setViewportSize(screen)
        await fitsTheScreen(page)
        const found = await seriousFaults(page, ['color-contrast'])
        expect(found, `${screen.width} pixels wide, dark`).to.deep.equal([])
      }
      expect(faults()).to.deep.equal([])
    })
  }

  OUTSIDE.forEach(looks)

  describe('that asks for a session', () => {
    before(() => visited.signIn(EMAIL))

    INSIDE.forEach(looks)
  })
})
