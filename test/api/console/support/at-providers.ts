import { startProvider } from '../../../../scripts/services/provider.ts'
import type { LocalProvider } from '../../../../scripts/services/provider.ts'
import type { Settings } from '../../../../scripts/harness/harness.ts'
import { proveAddress } from '../../../../scripts/harness/factories.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { send } from '../../../../scripts/harness/http.ts'
import type { LinkKind } from '../../../../src/shared/identity/one-time-tokens.ts'
import { createTokenMint, issueToken } from '../../../../src/shared/identity/one-time-tokens.ts'
import type { MailId, UserId } from '../../../../src/shared/platform/ids.ts'
import { aUser, consoleConfig, startConsole } from '../../../support/console.ts'
import type { Person, TestConsole } from '../../../support/console.ts'
import { useFor, useSecondWeb } from '../../../support/gateway.ts'
import { aBrowser, providerSettings, startGitHub } from './provider.ts'

/** What an answer is: its status and code. */
export const shown = ({ status, json }: Reply) => [status, json?.error ?? null]

/** What follows by an answer. */
export const kindOf = ({ json }: Reply): string =>
  json.token ? 'session' : json.ticket ? 'ticket' : json.pending ? 'pending' : (json.needs ?? json.error)

/** Where providers lead back to. */
export const CALLBACK = 'https://gate.example/auth/callback'

/** A service with all kinds of providers, started and stopped by hooks, and what tests do there. */
export function atProviders() {
  const start = async (settings: Settings) =>
    startConsole(await consoleConfig({ TRUST_PROXY: '1', SIGNUP_CREDITS: '7', ...settings }))
  const ids = ['local', 'trusted', 'invited', 'never', 'domain', 'off']
  const provider: LocalProvider = useFor(
    () => startProvider({ redirectUris: ids.map((id) => `${CALLBACK}/${id}`) }),
    ({ close }) => close(),
  )
  const users = {
    first: { id: 1, emails: [{ email: 'gh-1@example.com', primary: true, verified: true }] },
    second: { id: 2, emails: [{ email: 'gh-2@example.com', primary: true, verified: false }] },
  }
  const github = useFor(
    () => startGitHub(users),
    ({ close }) => close(),
  )
  const web: TestConsole = useFor(
    () => {
      const { issuer } = provider
      return start(
        providerSettings([
          { id: 'local', issuer },
          { id: 'trusted', issuer, secondFactor: true },
          { id: 'invited', issuer, register: 'invited' },
          { id: 'never', issuer, register: 'never' },
          { id: 'domain', issuer, domains: ['acme.example'] },
          { id: 'github', github: github.url, label: 'GitHub' },
          { id: 'down', issuer: 'http://127.0.0.1:9' },
        ]),
      )
    },
    ({ stop }) => stop(),
  )
  const other = useSecondWeb(web)
  const off: TestConsole = useFor(
    () => start({ ...providerSettings([{ id: 'off', issuer: provider.issuer }]), PASSWORDS: 'off' }),
    ({ stop }) => stop(),
  )

  const newBrowser = (at = web) => aBrowser(at.url)
  const identitiesOf = async (email: string) =>
    web.db('identities').whereIn('user_id', web.db('users').where({ email }).select('id')).pluck<string[]>('subject')
  const someone = async (): Promise<Person> => {
    const person = await aUser(web)
    await proveAddress(web.db, person)
    return person
  }
  const asker = (token: string) => (method: string, path: string, body?: unknown) =>
    send(method, `${web.url}${path}`, { key: token, body })
  /** The token of the newest mail of a kind; that of a user's link is made good, as when the mail is sent. */
  const mailedToken = async (email: string, kind: 'sign_in' | LinkKind = 'sign_in'): Promise<string> => {
    const mail = await web.db('mails').where({ recipient: email, kind }).orderBy('id', 'desc').first<{ id: MailId }>()
    const token = createTokenMint(web.config.APP_SECRET)(kind, mail.id)
    if (kind === 'sign_in') return token
    const { id: userId } = await web.db('users').where({ email }).first<{ id: UserId }>('id')
    await web.db.transaction((trx) => issueToken(trx, { mailId: mail.id, userId, purpose: kind, token }))
    return token
  }
  return { newBrowser, identitiesOf, someone, asker, mailedToken, web, other, off, github, provider }
}
