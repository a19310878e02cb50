import { anAuthenticator } from '../console/support/authenticator.ts'
import type { Requests } from '../support/visitor.ts'

/** Adding passkeys, and signing in with them. */
export const requests: Requests = {
  send: async ({ client, signUp, gateway: { config } }) => {
    const { hostname: host, origin } = new URL(config.BASE_URL)
    const { me } = await signUp()
    const device = anAuthenticator({ origin, host })
    const { options } = (await me('POST', '/api/auth/passkeys/options')).json
    const { passkey } = (await me('POST', '/api/auth/passkeys', { name: 'Phone', response: device.make(options) })).json
    await me('GET', '/api/auth/passkeys')
    await me('PATCH', `/api/auth/passkeys/${passkey.id}`, { name: 'Laptop' })
    const nobody = client()
    const challenge = (await nobody('POST', '/api/auth/passkey/options', {})).json.options
    await nobody('POST', '/api/auth/passkey', { response: device.use(challenge) })
    await me('DELETE', `/api/auth/passkeys/${passkey.id}`)
  },
}
