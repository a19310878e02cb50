import { expect } from 'chai'
import { COMMANDS } from '../../../src/admin/commands.ts'
import type { UserId } from '../../../src/shared/platform/ids.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { PASSWORD, aPerson } from '../../support/console.ts'
import type { Person } from '../../support/console.ts'
import { addApp } from './support/app.ts'
import { addPasskey } from './support/authenticator.ts'
import type { Who } from './support/provider.ts'
import { atProviders } from './support/at-providers.ts'

type Device = Awaited<ReturnType<typeof addPasskey>>
type Guarded = Person & { device?: Device | undefined }
/** What an entry gives a user with a second factor; one without gets a session wherever another gets a second step. */
type Due = 'session' | 'second step' | 'nothing'

describe('every entry point, for every second factor', () => {
  const at = atProviders()
  const { newBrowser, asker, mailedToken } = at
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    at.web.post(path, body, undefined, headers)
  const login = ({ email }: Person, headers: Record<string, string> = {}) =>
    post('/api/auth/login', { email, password: PASSWORD }, headers)
  const reset = async ({ email }: Person) => {
    await post('/api/email/forgot', { email })
    return post('/api/email/reset', { token: await mailedToken(email, 'reset'), password: PASSWORD })
  }
  /** A browser that has come back from a provider as somebody who is not connected yet. */
  const first = async ({ email }: Person, more: Who, provider = 'local') => {
    const browser = newBrowser()
    await browser.through({ subject: crypto.randomUUID(), email, ...more }, provider)
    return browser
  }
  const byPassword = async (person: Person, more: Who) =>
    (await first(person, { verified: true, ...more })).ask('POST', '/api/auth/login', {
      email: person.email,
      password: PASSWORD,
      pending: true,
    })
  const byMail = async (person: Person, more: Who, provider?: string) => {
    const browser = await first(person, more, provider)
    await browser.ask('POST', '/api/auth/sign-in/email', { email: person.email })
    return browser.ask('POST', '/api/auth/sign-in/mail', { token: await mailedToken(person.email) })
  }
  const connected = async ({ email }: Person, more: Who, provider?: string) => {
    const subject = crypto.randomUUID()
    const { id } = await at.web.db('users').where({ email }).first<{ id: UserId }>('id')
    const issuer = new URL(at.provider.issuer).href
    await at.web.db('identities').insert({ id: crypto.randomUUID(), user_id: id, issuer, subject })
    return newBrowser().through({ subject, ...more }, provider)
  }
  const byLink = async ({ email }: Person) => {
    const command = COMMANDS.find(({ usage }) => usage.startsWith('login-link'))!
    const { link } = (await command.run(at.web.db, [email], {})).json as { link: string }
    return post('/api/auth/sign-in/mail', { token: new URL(link).hash.slice('#token='.length) })
  }
  const byPasskey = async (device: Device) => {
    const { options } = (await post('/api/auth/passkey/options', {})).json
    return post('/api/auth/passkey', { response: device.use(options as { challenge: string }) })
  }

  type Entry = [string, Due, (person: Guarded) => Promise<Reply> | null]
  const ENTRIES: Entry[] = [
    [
      'a verification link',
      'nothing',
      async ({ email }) => post('/api/email/verify', { token: await mailedToken(email, 'verification') }),
    ],
    ['a password', 'second step', (person) => login(person)],
    ['a password from elsewhere', 'second step', (person) => login(person, { 'x-forwarded-for': '10.78.0.1' })],
    ['a password that links', 'second step', (person) => byPassword(person, {})],
    ['a password that links, after a factor there', 'second step', (person) => byPassword(person, { mfa: true })],
    ['a mail that links', 'second step', (person) => byMail(person, {})],
    ['a mail that links, after a factor there', 'second step', (person) => byMail(person, { mfa: true })],
    ['a mail that links, of a trusted provider', 'second step', (person) => byMail(person, {}, 'trusted')],
    ['a connected account', 'second step', (person) => connected(person, {})],
    ['a connected account, after a factor there', 'session', (person) => connected(person, { mfa: true })],
    ['a connected account of a trusted provider', 'session', (person) => connected(person, {}, 'trusted')],
    ['a link of an operator', 'second step', byLink],
    ['a passkey alone', 'session', ({ device }) => (device ? byPasskey(device) : null)],
    ['a registration again', 'nothing', ({ email }) => post('/api/auth/register', { email, password: PASSWORD })],
    ['a reset link', 'nothing', reset],
    ['a password after a reset', 'second step', async (person) => reset(person).then(() => login(person))],
  ]
  type Me = ReturnType<typeof asker>
  const FACTORS: [string, string[] | null, (me: Me) => Promise<Device | void>][] = [
    ['none', null, async () => {}],
    ['an app', ['totp', 'recovery'], async (me) => void (await addApp(me))],
    ['a passkey', ['passkey', 'recovery'], addPasskey],
  ]

  for (const [factor, asked, add] of FACTORS)
    it(`opens no session without what is required (ovumcy PR 705): ${factor}`, async () => {
      const person: Guarded = await aPerson(at.web)
      person.device = (await add(asker(person.token))) ?? undefined
      for (const [entry, due, go] of ENTRIES) {
        const reply = await go(person)
        if (reply === null) continue
        const { json, status } = reply
        const kind = json.token ? 'session' : json.ticket ? 'second step' : 'nothing'
        expect(kind, entry).to.equal(due === 'second step' && !asked ? 'session' : due)
        if (kind === 'session')
          expect([status, Object.keys(json as object)]).to.deep.equal([200, ['ok', 'token', 'user']])
        if (kind === 'second step') expect(json.secondFactor, entry).to.deep.equal(asked)
      }
    })
})
