/**
 * Which account the pages of this tab belong to. A session can be made to act for another one, in this tab or in
 * another: then everything is loaded again, and nothing that one account's pages showed or stored is left.
 */
import { effect } from '@preact/signals'
import { revokeKey } from '../api/endpoints.ts'
import { actFor } from '../api/organisations.ts'
import { forgetOwnKey, ownKey, token } from './session.ts'
import { TOKEN_KEY } from './stored-token.ts'

/** The account's id, next to what pages store for this tab: a tab that is restored still has it. */
const PLACE = 'tollgate.account'

function kept(): string | null {
  try {
    return sessionStorage.getItem(PLACE)
  } catch {
    return null
  }
}

let known = kept()

// The next user begins with their own.
effect(() => {
  if (token.value === null) known = null
})

/** Makes this tab belong to an account, without what it stored for the one before. */
function turnTo(account: string): void {
  const before = known
  known = account
  try {
    if (before !== null) {
      for (const place of Object.keys(sessionStorage)) {
        if (place !== TOKEN_KEY) sessionStorage.removeItem(place)
      }
    }
    sessionStorage.setItem(PLACE, account)
  } catch {
    // Nothing is stored where storage is forbidden.
  }
}

/**
 * Hears which account the session acts for.
 * @returns whether it is that of this tab; if not, the page is loaded anew.
 */
export function belongsTo(account: string): boolean {
  if (known === account) return true
  const isFirst = known === null
  turnTo(account)
  if (!isFirst) location.reload()
  return isFirst
}

/**
 * Acts for another account from now on, beginning at `path`. The key that the playground made for the one before is
 * revoked. It comes back only where it fails. @throws Problem
 */
export async function switchTo(account: string, path = '/overview'): Promise<never> {
  const key = ownKey()
  // It is of no use any more; whether it could be revoked decides nothing.
  if (key !== null) await revokeKey(key).catch(() => {})
  await actFor(account)
  forgetOwnKey()
  turnTo(account)
  location.assign(path)
  return new Promise(() => {})
}
