import { freePort } from '../../../scripts/services/ports.ts'
import { startProvider } from '../../../scripts/services/provider.ts'
import { anEmail } from '../../support/console.ts'
import { aBrowser, providerSettings, signInThere } from '../console/support/provider.ts'
import type { Requests } from '../support/visitor.ts'

const port = await freePort()

/** Signing in at a provider, proving an address, and connecting accounts. */
export const requests: Requests = {
  settings: providerSettings([{ id: 'local', issuer: `http://127.0.0.1:${port}` }]),
  send: async ({ client, signUp, mailedToken, gateway: { url, config } }) => {
    const provider = await startProvider({ port, redirectUris: [`${config.BASE_URL}/auth/callback/local`] })
    try {
      const browser = aBrowser(url, (key) => client(key || undefined))
      await client()('GET', '/api/auth/providers')
      const email = anEmail()
      await browser.through({ subject: 'unverified', email })
      await browser.ask('POST', '/api/auth/sign-in/email', { email })
      const token = await mailedToken(email, /^Complete your sign-in/)
      await browser.ask('POST', '/api/auth/sign-in/mail', { token })
      const { token: key } = await signUp()
      const { url: there } = (await browser.ask('POST', '/api/identities/local', {}, { key })).json
      await browser.back(await signInThere(there as string, { subject: 'linked' }))
      await browser.finish()
      const { data } = (await browser.ask('GET', '/api/identities', undefined, { key })).json
      await browser.ask('DELETE', `/api/identities/${data[0].id}`, undefined, { key })
    } finally {
      await provider.close()
    }
  },
}
