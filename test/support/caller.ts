import { chatBody, CHAT, countsOf, IMAGES, imageBody, movementsOf, recordOf } from '../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount, TestGrant } from '../../scripts/harness/factories.ts'
import type { TestWeb } from '../../scripts/harness/harness.ts'
import { send } from '../../scripts/harness/http.ts'
import type { Reply } from '../../scripts/harness/http.ts'

type Headers = Record<string, string>

/** What an account asks of its gateway with its key, and what it has left. */
type Asking = {
  send: (
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Headers; signal?: AbortSignal },
  ) => Promise<Reply>
  get: (path: string, headers?: Headers) => Promise<Reply>
  post: (path: string, body: unknown, headers?: Headers) => Promise<Reply>
  chat: (prompt: string, more?: object, headers?: Headers) => Promise<Reply>
  image: (prompt: string, more?: object, headers?: Headers) => Promise<Reply>
  balance: () => Promise<number>
  counts: () => ReturnType<typeof countsOf>
}

/** An account that can ask its gateway. */
export type Caller = TestAccount & Asking

/** What a web process of a test makes and looks up. */
export type Asked = {
  /** A new account with these grants. */
  account: (wanted?: TestGrant[] | number) => Promise<Caller>
  /** The record of the call that was answered. */
  record: (reply: Pick<Reply, 'headers'>) => ReturnType<typeof recordOf>
  /** Its movements, as `kind amount`. */
  movements: (reply: Reply) => Promise<string[]>
}

type Place = Pick<TestWeb, 'url' | 'db'>

/** What an account asks of a web process. */
export function callerOf<T extends TestAccount>(place: Place, account: T): T & Asking {
  const { db } = place
  const sending: Asking['send'] = (method, path, options) =>
    send(method, `${place.url}${path}`, { key: account.key, ...options })
  const posting: Asking['post'] = (path, body, headers) => sending('POST', path, { body, headers })
  return {
    ...account,
    send: sending,
    get: (path, headers) => sending('GET', path, { headers }),
    post: posting,
    chat: (prompt, more, headers) => posting(CHAT, chatBody(prompt, more), headers),
    image: (prompt, more, headers) => posting(IMAGES, imageBody(prompt, more), headers),
    balance: () => balanceOf(db, account.id),
    counts: () => countsOf(db, account),
  }
}

/** What the tests of a web process make and look up. */
export const askedOf = (place: Place): Asked => ({
  account: async (wanted) => callerOf(place, await anAccount(place.db, wanted)),
  record: (reply) => recordOf(place.db, reply as Reply),
  movements: (reply) => movementsOf(place.db, reply),
})
