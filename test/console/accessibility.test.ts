import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { closeBrowser, openBrowser } from '../support/browser.ts'
import { startWorld } from '../../scripts/harness/console-world.ts'
import type { World } from '../../scripts/harness/console-world.ts'
import { INSIDE, OUTSIDE, liveIn, settled } from './support/every-page.ts'
import type { LivedIn } from './support/every-page.ts'
import { fitsTheScreen, seriousFaults, visit } from './support/visit.ts'

const SCREENS = [
  { width: 1440, height: 900 },
  { width: 834, height: 1112 },
  { width: 360, height: 740 },
]

const EMAIL = 'accessible@example.com'

describe('every page of the console', () => {
  let world: World
  let browser: Browser
  let lived: LivedIn
  before(async function () {
    browser = await openBrowser(this)
    world = await startWorld()
    lived = await liveIn(world, EMAIL)
  })
  after(async () => {
    await closeBrowser()
    await world?.stop()
  })

  for (const viewport of SCREENS) {
    it(`has no serious fault and fits, ${viewport.width} pixels wide, in light and dark`, async function () {
      this.timeout(300_000)
      const { page, open, signIn, faults, close } = await visit(browser, world, { viewport, reducedMotion: 'reduce' })
      const look = async ([path, heading]: [string, string]): Promise<void> => {
        await page.emulateMedia({ colorScheme: 'light' })
        await open(lived.address(path), heading)
        await settled(page)
        await fitsTheScreen(page)
        expect(await seriousFaults(page), path).to.deep.equal([])
        // Colours are all that a theme changes.
        await page.emulateMedia({ colorScheme: 'dark' })
        await page.locator('html[data-theme=dark]').waitFor()
        expect(await seriousFaults(page, ['color-contrast']), `${path}, dark`).to.deep.equal([])
      }
      for (const one of OUTSIDE) await look(one)
      await signIn(EMAIL)
      for (const one of INSIDE) await look(one)
      expect(faults()).to.deep.equal([])
      await close()
    })
  }
})
