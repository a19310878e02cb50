/**
 * Who is signed in, as far as this browser knows: the session token. It rests in sessionStorage, which ends with the
 * tab, or in localStorage where "stay signed in" was chosen (docs/console.md has the risks of both).
 */
import { signal } from '@preact/signals'

const PLACE = 'tollgate.session'

/** Storage can be forbidden by the browser; the token then lives as long as the page. */
function read(storage: () => Storage): string | null {
  try {
    return storage().getItem(PLACE)
  } catch {
    return null
  }
}

function write(storage: () => Storage, token: string | null): void {
  try {
    if (token === null) storage().removeItem(PLACE)
    else storage().setItem(PLACE, token)
  } catch {
    // Nothing to do: see `read`.
  }
}

const tab = () => sessionStorage
const browser = () => localStorage

/** The session token; null while nobody is signed in. */
export const token = signal<string | null>(read(tab) ?? read(browser))

/** Why the session is over, for the sign-in page. */
export const signOutNotice = signal<string | null>(null)

/** Keeps a token. `stay`: also when the browser is closed. */
export function keepToken(value: string, stay: boolean): void {
  write(stay ? browser : tab, value)
  write(stay ? tab : browser, null)
  signOutNotice.value = null
  token.value = value
}

/** Forgets the token, and whatever pages have kept for this tab. `reason` is shown on the sign-in page. */
export function forgetToken(reason: string | null = null): void {
  write(tab, null)
  write(browser, null)
  try {
    // The page that kept a key here may not be loaded, to forget it by itself.
    sessionStorage.clear()
  } catch {
    // Nothing is kept where storage is forbidden.
  }
  signOutNotice.value = reason
  token.value = null
}

// Signed out in one tab is signed out in all that share the storage.
addEventListener('storage', (event) => {
  if (event.key === PLACE && event.newValue === null && token.value !== null)
    forgetToken('You were signed out in another tab.')
})
