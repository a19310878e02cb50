import { expect } from 'chai'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localProvider } from '../../../scripts/start/settings.ts'
import { anEmail, consoleConfig, startConsole } from '../../support/console.ts'
import { aBrowser, signInThere } from '../../api/console/support/provider.ts'

describe('the local provider of npm run dev', () => {
  it('signs in over http at any port, with a cookie whose name has no prefix', async () => {
    const { provider, settings } = await localProvider(mkdtempSync(join(tmpdir(), 'tollgate-dev-')))
    const web = await startConsole(await consoleConfig({ ...settings, BASE_URL: 'http://127.0.0.1:4321' }))
    try {
      const browser = aBrowser(web.url)
      const begun = await browser.ask('GET', '/api/auth/sign-in/local')
      expect(begun.headers.get('set-cookie')).to.match(/^tollgate-sign-in=[\w-]{43}; .*; HttpOnly; SameSite=Lax$/)
      const email = anEmail()
      await browser.back(await signInThere(begun.headers.get('location')!, { email, verified: true }))
      expect((await browser.finish()).json.user).to.include({ email, emailVerified: true })
    } finally {
      await web.stop()
      await provider.close()
    }
  })
})
