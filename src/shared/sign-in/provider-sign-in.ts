/**
 * Signing in at a provider: what follows when a browser has come back (docs/sign-in.md#providers). An identity is never
 * linked because an address is equal: only by a proof of the user, made after the browser came back.
 */
import { revokeKeysOfUser } from '../identity/api-keys.ts'
import { isInvited } from '../identity/invitations.ts'
import { NO_PASSWORD } from '../identity/passwords.ts'
import { endSessions, holderOfSession, noteProof } from '../identity/sessions.ts'
import type { OpenedSession } from '../identity/sessions.ts'
import type { SignupTerms } from '../identity/signup-credits.ts'
import { giveSignupCredits } from '../identity/signup-credits.ts'
import { openTicket } from '../identity/tickets.ts'
import type { UserFields, UserRow } from '../identity/users.ts'
import { createUser, findUser, findUserByEmail, lockUser, markVerified, setPasswordHash } from '../identity/users.ts'
import { proven } from '../identity/verification.ts'
import { requestMail } from '../mail/mails.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, PendingId, SessionId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { lockOwner } from './changes.ts'
import { endOtherWays, holderOf, linkIdentity, noteIdentity } from './identities.ts'
import { spendLoginLink } from './login-links.ts'
import type { Pending } from './pending.ts'
import { expectMail, findWaiting, takeArrived, takeMailed, takePending } from './pending.ts'
import type { Provider } from './providers.ts'
import type { From } from './second-factor.ts'
import { openPassed } from './second-factor.ts'
import { settle } from './settle.ts'

type Deps = { db: Db; providers: ReadonlyMap<string, Provider>; terms: SignupTerms }

/** Somebody who may come in: with a session, or with a ticket for the second step. */
type Entered = (OpenedSession & { user: UserRow }) | { ticket: string; user: UserRow }

/**
 * What follows. `pending`: an account with this address must be proved first; `needs`: an address must be proved;
 * `done`: an identity was linked to the user of a session, or has proved them. `mailIds`: to be enqueued.
 */
export type Outcome = (
  | Entered
  | { pending: { provider: string; email: string } }
  | { needs: 'email' }
  | { done: 'linked' | 'proved'; user: UserRow }
) & { mailIds: MailId[] }

/**
 * What follows for the browser that has come back: once, within 5 minutes.
 * @throws ApiError invalid_ticket; account_suspended; forbidden to whom the provider lets nobody in; identity_taken,
 * unauthorized, invalid_credentials where an identity was to be linked or to prove its user.
 */
export const finishSignIn = (deps: Deps, browser: string, from: From): Promise<Outcome> =>
  deps.db.transaction(async (trx) => {
    const pending = await takeArrived(trx, browser)
    const provider = pending && deps.providers.get(pending.provider)
    if (!pending || !provider) throw new ApiError('invalid_ticket')
    if (pending.sessionId) return ofSession(trx, provider, pending, pending.sessionId)
    const holder = await holderOf(trx, pending)
    const known = holder && (await lockUser(trx, holder))
    if (known && (await holderOf(trx, pending)) === known.id) {
      return enter(deps, trx, known, {
        ...from,
        browser,
        pendingId: pending.id,
        hasPassedFactor: pending.hasPassedFactor,
      })
    }
    if (pending.email === null || !pending.isVerified) return { needs: 'email', mailIds: [] }
    const user = await takeIn(deps, trx, provider, { pending, email: pending.email, isProved: false })
    if (user === null) return { pending: { provider: provider.label, email: pending.email }, mailIds: [] }
    return enter(deps, trx, user, { ...from, browser, pendingId: pending.id })
  })

/** Links an identity to the user of a session that still is, or notes that it has proved them. */
async function ofSession(trx: Trx, provider: Provider, pending: Pending, sessionId: SessionId): Promise<Outcome> {
  const session = await holderOfSession(trx, sessionId)
  if (!session) throw new ApiError('unauthorized')
  const user = await lockOwner(trx, { userId: session.userId, sessionId })
  await takePending(trx, pending.id)
  const row = (await findUser(trx, user.id))!
  if (pending.purpose === 'link') {
    requireDomain(provider, pending.isVerified ? pending.email : null)
    return { done: 'linked', user: row, mailIds: [await linkIdentity(trx, user, pending)] }
  }
  if ((await holderOf(trx, pending)) !== user.id)
    throw new ApiError('invalid_credentials', {
      message: `This account at ${provider.label} is not connected to yours.`,
    })
  await noteIdentity(trx, pending)
  await noteProof(trx, sessionId, 'password')
  return { done: 'proved', user: row, mailIds: [] }
}

/** @throws ApiError forbidden. */
function requireDomain({ domains, label }: Provider, email: string | null): void {
  if (domains === null || domains.includes(email?.split('@')[1] ?? '')) return
  throw new ApiError('forbidden', { message: `${label} is for addresses of ${domains.join(', ')} here.` })
}

/** An address of a pending identity. `isProved`: by a mail to it, so that its user is proved. */
type Address = { pending: Pending; email: string; isProved: boolean }

/**
 * The user of an address that is verified, their row locked: a new one; or one who had not verified it, without
 * everything that could use their account. Null: a user who is still to be proved.
 * @throws ApiError forbidden, conflict.
 */
async function takeIn(
  { terms }: Deps,
  trx: Trx,
  provider: Provider,
  { pending, email, isProved }: Address,
): Promise<UserFields | null> {
  requireDomain(provider, email)
  const found = await findUserByEmail(trx, email)
  const user = found && (await lockUser(trx, found.id))
  if (found && user?.email !== email) throw new ApiError('conflict')
  if (user?.email_verified_at) return isProved ? user : null
  await requireRegistration(trx, provider, { pending, email })
  if (!user) return makeUser(trx, email, terms)
  await takeOver(trx, user, terms)
  return lockUser(trx, user.id)
}

/** @throws ApiError forbidden to whom a provider makes no account. */
async function requireRegistration(
  trx: Trx,
  { register, label }: Provider,
  { pending: { invitationHash }, email }: Pick<Address, 'pending' | 'email'>,
): Promise<void> {
  const mayRegister =
    register === 'open' ||
    (register === 'invited' && invitationHash !== null && (await isInvited(trx, invitationHash, email)))
  if (!mayRegister)
    throw new ApiError('forbidden', { message: `${label} makes no accounts here: ask for an invitation.` })
}

async function makeUser(trx: Trx, email: string, terms: SignupTerms): Promise<UserFields | null> {
  const ids = { id: newId('user'), accountId: newId('account') }
  const made = await createUser(trx, { ...ids, email, passwordHash: NO_PASSWORD })
  if (!made) throw new ApiError('conflict')
  await markVerified(trx, made.id)
  await giveSignupCredits(trx, made, terms)
  return lockUser(trx, made.id)
}

/** Somebody else may have registered the address: nothing that they had set up is left. */
async function takeOver(trx: Trx, user: UserFields, terms: SignupTerms): Promise<void> {
  await setPasswordHash(trx, user.id, NO_PASSWORD)
  await endSessions(trx, user.id)
  await revokeKeysOfUser(trx, user.id)
  await endOtherWays(trx, user.id)
  await markVerified(trx, user.id)
  await proven(trx, user, terms)
}

/** `hasPassedFactor`: the provider has asked for one, of an identity that was linked before. */
type Entry = From & { browser: string; pendingId: PendingId | null; hasPassedFactor?: boolean }

/** Lets a user in, whose row is locked: the last step, or the second to last. */
async function enter(
  { terms }: Deps,
  trx: Trx,
  user: UserFields,
  { browser, pendingId, hasPassedFactor = false, ...from }: Entry,
): Promise<Entered & { mailIds: MailId[] }> {
  if (user.has_second_factor && !hasPassedFactor) {
    const ticket = await openTicket(trx, { userId: user.id, passwordHash: user.password_hash, browser, pendingId })
    return { ticket: ticket!, user: (await findUser(trx, user.id))!, mailIds: [] }
  }
  const session = await openPassed(trx, user, from)
  return { ...session, mailIds: pendingId ? await settle(trx, user, { ...session, pendingId }, terms) : [] }
}

/**
 * Asks for the mail that proves an address of what waits in a browser. The same is written for every address.
 * @throws ApiError invalid_ticket; invalid_request for another address than the one that the issuer has verified.
 */
export const requestSignInMail = (
  db: Db,
  browser: string,
  email: string,
  mint: (mailId: MailId) => string,
): Promise<MailId> =>
  db.transaction(async (trx) => {
    const waiting = await findWaiting(trx, browser)
    if (!waiting) throw new ApiError('invalid_ticket')
    if (waiting.isVerified && waiting.email !== email)
      throw new ApiError('invalid_request', { message: `email must be ${waiting.email}.`, param: 'email' })
    const mailId = newId('mail')
    await requestMail(trx, { id: mailId, kind: 'sign_in', recipient: email, userId: null })
    await expectMail(trx, waiting.id, { mailId, token: mint(mailId), to: email })
    return mailId
  })

/**
 * Signs in by the token of such a mail, in the browser that asked for it, or by that of an operator's link.
 * @throws ApiError invalid_token; account_suspended; forbidden; identity_taken; conflict.
 */
export const signInByMail = (deps: Deps, browser: string, token: string, from: From): Promise<Outcome> =>
  deps.db.transaction(async (trx) => {
    const pending = await takeMailed(trx, browser, token)
    const provider = pending && deps.providers.get(pending.provider)
    if (pending?.mailedTo && provider) {
      const user = await takeIn(deps, trx, provider, { pending, email: pending.mailedTo, isProved: true })
      return enter(deps, trx, user!, { ...from, browser, pendingId: pending.id })
    }
    const userId = await spendLoginLink(trx, token)
    const user = userId && (await lockUser(trx, userId))
    if (!user) throw new ApiError('invalid_token')
    return enter(deps, trx, user, { ...from, browser, pendingId: null })
  })

/**
 * What waits in a browser to be linked by a login.
 * @throws ApiError invalid_ticket if nothing does; forbidden if its provider is for certain domains, and has not
 * verified an address of one: then the mail alone links it.
 */
export async function requireWaiting(
  { db, providers }: Pick<Deps, 'db' | 'providers'>,
  browser: string,
): Promise<PendingId> {
  const waiting = await findWaiting(db, browser)
  const provider = waiting && providers.get(waiting.provider)
  if (!provider) throw new ApiError('invalid_ticket')
  requireDomain(provider, waiting.isVerified ? waiting.email : null)
  return waiting.id
}
