/**
 * Who is signed in, as far as this browser knows: the session token.
 */
import { signal } from '@preact/signals'
import { t } from '../language/language.ts'
import { storedToken, read, TOKEN_KEY } from './stored-token.ts'

function write(storage: () => Storage, token: string | null): void {
  try {
    if (token === null) storage().removeItem(TOKEN_KEY)
    else storage().setItem(TOKEN_KEY, token)
  } catch {
    // Storage can be forbidden by the browser; the token then lives as long as the page.
  }
}

const tab = () => sessionStorage
const browser = () => localStorage

/** The session token; null while nobody is signed in. */
export const token = signal<string | null>(storedToken())

/** The address of who is signed in, once the server has sent it. */
export const signedInAs = signal<string | null>(null)

/** Whether the session has ended by itself while a page was in use: the page stays, and asks for the password. */
export const hasEnded = signal(false)

/** Whether the user must set up a second factor before anything else. */
export const mustAddFactor = signal(false)

/** Why the session is over, for the sign-in page. */
export const signOutNotice = signal<string | null>(null)

/** Keeps a token. `stay`: also when the browser is closed. */
export function keepToken(value: string, stay: boolean): void {
  write(stay ? browser : tab, value)
  if (stay) write(tab, null)
  else forgetOwn(browser, token.value)
  signOutNotice.value = null
  token.value = value
  hasEnded.value = false
}

/** Whether the session lasts beyond the tab: it is stored in the browser. */
export const staysSignedIn = (): boolean => token.value !== null && read(browser) === token.value

/**
 * The server reports that the session has ended. A user with a loaded page signs in again over it and loses nothing;
 * a page that never knew its user loads everything again.
 */
export function endSession(): void {
  if (signedInAs.value === null) forgetToken(t.entrance.sessionOver)
  else if (token.value !== null) hasEnded.value = true
}

/** Removes a token from its storage, unless that has another one by now: of somebody else, who signed in. */
function forgetOwn(storage: () => Storage, own: string | null): void {
  if (own !== null && read(storage) === own) write(storage, null)
}

/** The id of the key that the playground made in this browser, in any tab; it is no secret. */
const OWN_KEY_PLACE = 'tollgate.playground-key-id'

/** Remembers the playground's own key, to revoke it at the sign-out. */
export function keepOwnKey(id: string): void {
  try {
    localStorage.setItem(OWN_KEY_PLACE, id)
  } catch {
    // It stays valid until its owner revokes it.
  }
}

/** The playground's own key, which ends with the sign-out; null without one. */
export function ownKey(): string | null {
  try {
    return localStorage.getItem(OWN_KEY_PLACE)
  } catch {
    return null
  }
}

/** Forgets it: it is revoked, or its account is not that of the session any more. */
export function forgetOwnKey(): void {
  try {
    localStorage.removeItem(OWN_KEY_PLACE)
  } catch {
    // Nothing is stored where storage is forbidden.
  }
}

/** Forgets the token, and all that pages have stored for this tab. `reason` is shown on the sign-in page. */
export function forgetToken(reason: string | null = null): void {
  forgetOwn(browser, token.value)
  try {
    // The page that stored a key here may not be loaded, to forget it by itself.
    sessionStorage.clear()
  } catch {
    // Nothing is stored where storage is forbidden.
  }
  forgetOwnKey()
  signOutNotice.value = reason
  mustAddFactor.value = false
  token.value = null
  signedInAs.value = null
  hasEnded.value = false
}

// Signed out in one tab is signed out in all that share the storage.
addEventListener('storage', (event) => {
  if (event.key === TOKEN_KEY && event.newValue === null && token.value !== null)
    forgetToken(t.entrance.signedOutElsewhere)
})
