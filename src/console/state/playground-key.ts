/**
 * The API key that the playground calls with. It rests in sessionStorage alone: it ends with the tab, and with the
 * sign-out.
 */
import { effect, signal } from '@preact/signals'
import { token } from './session.ts'

const PLACE = 'tollgate.playground-key'

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

effect(() => {
  if (token.value === null) setPlaygroundKey('')
})
