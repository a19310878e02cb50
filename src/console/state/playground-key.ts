/**
 * The API key that the playground calls with: one that was pasted, or the account's own for this purpose. Its secret
 * rests in sessionStorage alone: it ends with the tab, and with the sign-out.
 */
import { effect, signal } from '@preact/signals'
import { createKey, getKeys, rotateKey } from '../api/endpoints.ts'
import { token } from './session.ts'

const PLACE = 'tollgate.playground-key'

/** The key that the playground makes for itself. It stands in the list of keys, and can be limited as any other. */
export const OWN_NAME = 'Console playground'

/** A secret of another tab goes on working this long after this tab has got one, in seconds. */
const GRACE_SECONDS = 7 * 86_400

function kept(): string {
  try {
    return sessionStorage.getItem(PLACE) ?? ''
  } catch {
    return ''
  }
}

export const playgroundKey = signal(kept())

/** Keeps a key for this tab; an empty one is forgotten. */
export function setPlaygroundKey(key: string): void {
  playgroundKey.value = key
  try {
    if (key === '') sessionStorage.removeItem(PLACE)
    else sessionStorage.setItem(PLACE, key)
  } catch {
    // It holds until the page is closed.
  }
}

/** The key to call with. Where none was pasted, the account's own is given a new secret, or made. @throws Problem */
export async function obtainPlaygroundKey(): Promise<string> {
  if (playgroundKey.peek() !== '') return playgroundKey.peek()
  // Two calls that begin together share one key.
  obtaining ??= obtain().finally(() => (obtaining = null))
  return obtaining
}

let obtaining: Promise<string> | null = null

async function obtain(): Promise<string> {
  const own = (await getKeys()).data.find(({ name, revokedAt }) => name === OWN_NAME && revokedAt === null)
  const { secret } = await (own ? rotateKey(own.id, GRACE_SECONDS) : createKey(OWN_NAME))
  setPlaygroundKey(secret)
  return secret
}

effect(() => {
  if (token.value === null) setPlaygroundKey('')
})
