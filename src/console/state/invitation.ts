/**
 * The invitation that somebody follows: stored in this tab while they sign in or register.
 */
const PLACE = 'tollgate.invitation'

/** The token of an invitation, and the address that was invited. */
export type KeptInvitation = { token: string; email: string }

/** What was stored during a sign-in; null without one, or where the browser forbids storage. */
export function keptInvitation(): KeptInvitation | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? 'null') as Partial<KeptInvitation> | null
    return typeof kept?.token === 'string' ? { token: kept.token, email: String(kept.email ?? '') } : null
  } catch {
    return null
  }
}

/** Stores an invitation for one return; null forgets it. */
export function keepInvitation(invitation: KeptInvitation | null): void {
  try {
    if (invitation === null) sessionStorage.removeItem(PLACE)
    else sessionStorage.setItem(PLACE, JSON.stringify(invitation))
  } catch {
    // The link in the mail is opened again after the sign-in.
  }
}
