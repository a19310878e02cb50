import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../../../scripts/harness/harness.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { send } from '../../../../scripts/harness/http.ts'
import { LOCAL_CLIENT } from '../../../../scripts/services/provider.ts'
import { cookieOf } from './app.ts'

/** The settings of providers, as an operator writes them. */
export function providerSettings(providers: object[]): Settings {
  const file = join(mkdtempSync(join(tmpdir(), 'tollgate-providers-')), 'providers.json')
  const usual = { label: 'Local', register: 'open', clientId: LOCAL_CLIENT.id, clientSecretEnv: 'LOCAL_SECRET' }
  writeFileSync(file, JSON.stringify(providers.map((one) => ({ ...usual, ...one }))))
  return { SIGNIN_PROVIDERS: file, LOCAL_SECRET: LOCAL_CLIENT.secret }
}

/** Who somebody is at the local provider. `deny`: they cancel there. */
export type Who = { subject?: string; email?: string; verified?: boolean; mfa?: boolean; deny?: boolean }

/** Signs in at the local provider. @returns where it leads the browser back to */
export async function signInThere(address: string, who: Who): Promise<URL> {
  const cookies = new Map<string, string>()
  const visit = async (url: URL, form?: URLSearchParams): Promise<URL> => {
    const answer = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { body: form }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    return new URL(answer.headers.get('location') ?? 'about:none', url)
  }
  const form = new URLSearchParams()
  for (const name of ['subject', 'email'] as const) form.set(name, who[name] ?? '')
  for (const name of ['verified', 'mfa', 'deny'] as const) if (who[name]) form.set(name, 'on')
  return visit(await visit(await visit(new URL(address)), form))
}

type Headers = Record<string, string>
type Client = (method: string, path: string, body?: unknown, headers?: Headers) => Promise<Reply>

/** A client of a service, with a session token or without. */
const clientAt =
  (at: string): ((key: string) => Client) =>
  (key) =>
  (method, path, body, headers) =>
    send(method, `${at}${path}`, { body, headers, ...(key && { key }) })

/** A browser of the console: its cookie, and what it is led to. `via`: how it asks, if not this service itself. */
export function aBrowser(first: string, via?: (key: string) => Client) {
  let cookie = ''
  const ask = async (method: string, path: string, body?: unknown, { at = first, key = '' } = {}): Promise<Reply> => {
    const client = via && at === first ? via : clientAt(at)
    const reply = await client(key)(method, path, body, cookie ? { cookie } : {})
    cookie = cookieOf(reply) || cookie
    return reply
  }
  const browser = {
    ask,
    /** Without what it was. */
    forget: () => (cookie = ''),
    /** Begins at a provider. @returns its address */
    begin: async (provider = 'local', query = ''): Promise<string> =>
      (await ask('GET', `/api/auth/sign-in/${provider}${query}`)).headers.get('location')!,
    /** Comes back from a provider. */
    back: (url: URL, at = first): Promise<Reply> => ask('GET', `${url.pathname}${url.search}`, undefined, { at }),
    finish: (at = first): Promise<Reply> => ask('POST', '/api/auth/sign-in/finish', {}, { at }),
    /** All of it. */
    through: async (who: Who, provider = 'local', query = ''): Promise<Reply> => {
      await browser.back(await signInThere(await browser.begin(provider, query), who))
      return browser.finish()
    },
  }
  return browser
}

/** A GitHub: its users by the code that they come back with. */
export async function startGitHub(users: Record<string, { id: number; emails: object[] }>) {
  const asked: URLSearchParams[] = []
  const server = createServer((request, response) => {
    const answer = (body: unknown) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body))
    const user = users[request.headers.authorization?.replace('Bearer ', '') ?? '']
    if (request.url === '/api/v3/user') return void answer({ id: user?.id, login: 'ada' })
    if (request.url === '/api/v3/user/emails') return void answer(user?.emails)
    let text = ''
    request.on('data', (part: Buffer) => (text += String(part)))
    request.on('end', () => {
      const form = new URLSearchParams(text)
      asked.push(form)
      answer({ access_token: form.get('code'), token_type: 'bearer', scope: 'user:email' })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, asked, close: () => new Promise<void>((resolve) => void server.close(() => resolve())) }
}
