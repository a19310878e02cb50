/**
 * Signing out.
 */
import { revokeKey, signOut } from '../api/endpoints.ts'
import { forgetToken, ownKey, token } from './session.ts'

/**
 * This browser drops the session at once, whether or not the server can be reached. The key that the playground made
 * ends first: a session that is over revokes nothing.
 */
export function signOutHere(): void {
  const [key, session] = [ownKey(), token.peek()]
  const revoked = key === null ? Promise.resolve() : revokeKey(key)
  revoked
    .catch(() => {})
    .then(() => signOut(session))
    .catch(() => {})
  forgetToken()
}
