/**
 * The API key that the playground calls with: one that was pasted, or the account's own for this purpose. Its secret
 * rests in sessionStorage alone: it ends with the tab, and with the sign-out, which also revokes the account's own.
 */
import { effect, signal } from '@preact/signals'
import { createKey, getKeys, rotateKey } from '../api/endpoints.ts'
import { problemOf } from '../api/client.ts'
import { isOneself, membersSeen } from './members.ts'
import { keepOwnKey, token } from './session.ts'

const PLACE = 'tollgate.playground-key'

/** Marks the stored key as the account's own, which may be replaced. */
const OWN_PLACE = 'tollgate.playground-key-is-own'

/** The key that the playground makes for itself. It is in the list of keys, and can be limited as any other. */
export const OWN_NAME = 'Console playground'

/** A secret of another tab goes on working this long after this tab has got one, in seconds. */
const GRACE_SECONDS = 300

function kept(place: string): string {
  try {
    return sessionStorage.getItem(place) ?? ''
  } catch {
    return ''
  }
}

export const playgroundKey = signal(kept(PLACE))

let isOwn = kept(OWN_PLACE) !== ''

/** Keeps a key for this tab; an empty one is forgotten. */
export function setPlaygroundKey(key: string, own = false): void {
  playgroundKey.value = key
  isOwn = own
  try {
    if (key === '') sessionStorage.removeItem(PLACE)
    else sessionStorage.setItem(PLACE, key)
    if (own) sessionStorage.setItem(OWN_PLACE, 'yes')
    else sessionStorage.removeItem(OWN_PLACE)
  } catch {
    // It holds until the page is closed.
  }
}

/**
 * Calls with the key. A secret of the account's own key that is over, because another tab got one or signed out, is
 * replaced once. @throws Problem
 */
export async function withPlaygroundKey<T>(call: (key: string) => Promise<T>): Promise<T> {
  const key = await obtainPlaygroundKey()
  try {
    return await call(key)
  } catch (thrown) {
    if (!isOwn || problemOf(thrown).code !== 'unauthorized') throw thrown
    if (playgroundKey.peek() === key) setPlaygroundKey('')
    return call(await obtainPlaygroundKey())
  }
}

/** The key to call with. Where none was pasted, the account's own is given a new secret, or made. @throws Problem */
async function obtainPlaygroundKey(): Promise<string> {
  if (playgroundKey.peek() !== '') return playgroundKey.peek()
  // Two calls that begin together share one key.
  obtaining ??= obtain().finally(() => (obtaining = null))
  return obtaining
}

let obtaining: Promise<string> | null = null

async function obtain(): Promise<string> {
  const [{ data: keys }, members] = await Promise.all([getKeys(), membersSeen()])
  const own = keys.find((key) => key.name === OWN_NAME && key.revokedAt === null && isOneself(key, members))
  const { key, secret } = await (own ? rotateKey(own.id, GRACE_SECONDS) : createKey(OWN_NAME))
  setPlaygroundKey(secret, true)
  keepOwnKey(key.id)
  return secret
}

effect(() => {
  if (token.value === null) setPlaygroundKey('')
})
