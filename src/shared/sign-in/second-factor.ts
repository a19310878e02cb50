/**
 * What users do with second factors: add and remove them, complete a login with one, and prove themselves again. Each
 * change is mailed and recorded in the transaction that makes it (docs/sign-in.md).
 */
import type { Operator } from '../action-log/actions.ts'
import type { Guesses, NetworkHash } from '../identity/login.ts'
import { isLoginNetwork, rememberNetwork } from '../identity/login.ts'
import { confirmOwner } from '../identity/password-changes.ts'
import type { OwnProof } from '../identity/passwords.ts'
import type { Device, OpenedSession } from '../identity/sessions.ts'
import { endSessions, noteProof, openSession } from '../identity/sessions.ts'
import type { SentTicket } from '../identity/tickets.ts'
import { deleteTickets, failTicket, findTicket, spendTicket } from '../identity/tickets.ts'
import type { UserFields, UserRow } from '../identity/users.ts'
import { findUser, lockUser } from '../identity/users.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, PendingId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { SignupTerms } from '../identity/signup-credits.ts'
import type { Whose } from './changes.ts'
import { lockOwner, note } from './changes.ts'
import type { TotpBox } from './factors.ts'
import {
  acceptCode,
  awaitsTotp,
  beginTotp,
  confirmTotp,
  deleteFactors,
  deleteTotp,
  newRecoveryCodes,
  spendRecoveryCode,
} from './factors.ts'
import type { Signed, Site, UsedPasskey } from './passkeys.ts'
import { noteUse, verifyUsed } from './passkeys.ts'
import { settle } from './settle.ts'
import { base32, otpauthUri } from './totp.ts'

/**
 * Begins to add an authenticator app, which counts from its first right code on.
 * @param issuer how the app names this service
 * @returns the secret in base32, and the address that a QR code has.
 * @throws ApiError conflict if the user has one.
 */
export const addTotp = (db: Db, box: TotpBox, whose: Whose, issuer: string): Promise<{ secret: string; uri: string }> =>
  db.transaction(async (trx) => {
    const { id, email } = await lockOwner(trx, whose)
    const secret = await beginTotp(trx, box, id)
    if (!secret) throw new ApiError('conflict', { message: 'You have an authenticator app already. Remove it first.' })
    return { secret: base32(secret), uri: otpauthUri(secret, { issuer, account: email }) }
  })

/**
 * Confirms an app by its first code: logins need it from now on. All other sessions of the user end.
 * @throws ApiError invalid_credentials for a wrong code; conflict if no app is being added.
 */
export const confirmNewTotp = (
  db: Db,
  box: TotpBox,
  whose: Whose,
  code: string,
): Promise<{ recoveryCodes: string[]; mailId: MailId }> =>
  db.transaction(async (trx) => {
    const user = await lockOwner(trx, whose)
    if (!(await awaitsTotp(trx, user.id))) throw new ApiError('conflict', { message: 'No app is being added.' })
    if (!(await acceptCode(trx, box, { userId: user.id, code, isNew: true }))) throw wrongCode()
    await confirmTotp(trx, user.id)
    const recoveryCodes = await newRecoveryCodes(trx, user.id)
    await endSessions(trx, user.id, whose.sessionId)
    return { recoveryCodes, mailId: await note(trx, 'totp_added', user) }
  })

/** Removes the app; with the last factor the recovery codes end. @throws ApiError not_found if there is none. */
export const removeTotp = (db: Db, whose: Whose): Promise<MailId> =>
  db.transaction(async (trx) => {
    const user = await lockOwner(trx, whose)
    if (!(await deleteTotp(trx, user.id))) throw new ApiError('not_found')
    return note(trx, 'totp_removed', user)
  })

/** Removes all second factors of a user for an operator; their sessions and waiting logins end. */
export const resetSecondFactor = (
  db: Db,
  operator: Operator,
  { id: userId, account_id: accountId }: Pick<UserRow, 'id' | 'account_id'>,
): Promise<MailId> =>
  db.transaction(async (trx) => {
    const user = await lockUser(trx, userId)
    if (!user) throw new ApiError('not_found')
    await deleteFactors(trx, userId)
    await deleteTickets(trx, userId)
    await endSessions(trx, userId)
    return note(trx, 'second_factor_reset', user, { operator, accountId })
  })

/** The answer to a code that is wrong, or was used. */
const wrongCode = (): ApiError => new ApiError('invalid_credentials', { message: 'The code is wrong or was used.' })

/** What a login is completed with: a code of the app, a recovery code, or a passkey. */
export type SecondStep = { code: string } | { recoveryCode: string } | { passkey: UsedPasskey }

/** The second step of a login, and from where it comes. */
export type Completion = SentTicket & From & { step: SecondStep }

type Deps = { db: Db; guesses: Guesses; box: TotpBox; site: Site }

/** `terms`: what an accepted invitation grants with the proof of an address. */
type CompletionDeps = Deps & { terms: SignupTerms }

/**
 * Counts a code as a guess at the password, if the network has not logged in to the account before, and forgets the
 * failures if it was right. @throws ApiError rate_limited during a pause.
 */
async function guessing<T>(
  { db, guesses }: Pick<Deps, 'db' | 'guesses'>,
  { userId, device, network }: { userId: UserId; device: Device; network: NetworkHash },
  work: () => Promise<T | null>,
): Promise<T | null> {
  const user = await findUser(db, userId)
  const isCounted = user !== null && !(await isLoginNetwork(db, user.email, network))
  if (isCounted) await guesses.count(user.email, device.ip)
  const result = await work()
  if (isCounted && result !== null) await guesses.forget(user.email)
  return result
}

/** A login that was completed. `mailIds`: to be enqueued. */
export type Completed = OpenedSession & { user: UserRow; mailIds: MailId[] }

/**
 * Completes a login by its ticket, once. A wrong code counts against the ticket and as a wrong password.
 * @throws ApiError invalid_ticket; invalid_credentials; account_suspended; rate_limited; and as `settle`.
 */
export async function completeLogin(deps: CompletionDeps, completion: Completion): Promise<Completed> {
  const { db, site } = deps
  const { step } = completion
  const userId = await findTicket(db, completion)
  if (!userId) throw new ApiError('invalid_ticket')
  const completed = await guessing(deps, { userId, ...completion }, async () => {
    const signed = 'passkey' in step ? await verifyUsed(db, site, step.passkey) : null
    return tryStep(deps, userId, completion, signed)
  })
  if (!completed) throw wrongCode()
  return completed
}

/** One try of a second step; null if it was wrong. @throws ApiError invalid_ticket, account_suspended. */
const tryStep = (
  { db, box, terms }: CompletionDeps,
  userId: UserId,
  { step, device, network, ...sent }: Completion,
  signed: Signed | null,
) =>
  db.transaction(async (trx): Promise<Completed | null> => {
    const user = await lockUser(trx, userId)
    if (!user || (await findTicket(trx, sent)) !== userId) throw new ApiError('invalid_ticket')
    const isRight =
      'recoveryCode' in step
        ? await spendRecoveryCode(trx, userId, step.recoveryCode)
        : 'code' in step
          ? await acceptCode(trx, box, { userId, code: step.code })
          : await acceptPasskey(trx, user, signed)
    if (!isRight) {
      await failTicket(trx, sent)
      return null
    }
    const pendingId = await spendTicket(trx, sent)
    const opened = await openPassed(trx, user, { device, network })
    const mailIds = pendingId ? await settle(trx, user, { ...opened, pendingId }, terms) : []
    if ('recoveryCode' in step) mailIds.push(await note(trx, 'recovery_code_used', user))
    return { ...opened, mailIds }
  })

/** From where somebody signs in. */
export type From = { device: Device; network: NetworkHash }

/** Opens the session of a user who has passed both factors, and whose row is locked. @throws account_suspended. */
export async function openPassed(trx: Trx, { id: userId, password_hash: passwordHash }: UserFields, from: From) {
  const user = (await findUser(trx, userId))!
  const who = { userId, accountId: user.account_id, passwordHash, hasPassedSecondFactor: true }
  const session = await openSession(trx, { ...from.device, ...who })
  if (!session) throw new ApiError('account_suspended')
  await rememberNetwork(trx, userId, from.network)
  return { ...session, user }
}

/**
 * Whether a user, whose row is locked, has signed with a passkey of theirs. One whose counter went backwards is
 * refused, which is mailed and recorded.
 */
async function acceptPasskey(trx: Trx, user: UserFields, signed: Signed | null): Promise<boolean> {
  if (signed?.userId !== user.id) return false
  const isUsed = await noteUse(trx, signed)
  if (isUsed === 'copied') await note(trx, 'passkey_refused', user)
  return isUsed === 'used'
}

/** Whose passkey has signed, which has verified its user. @throws ApiError invalid_credentials. */
async function verifiedBy({ db, site }: Pick<Deps, 'db' | 'site'>, used: UsedPasskey): Promise<Signed> {
  const signed = await verifyUsed(db, site, used)
  if (!signed?.isVerified) throw wrongPasskey()
  return signed
}

const wrongPasskey = (): ApiError =>
  new ApiError('invalid_credentials', { message: 'This passkey is not known here, or has not verified you.' })

/**
 * Signs in with a passkey alone: it is both factors. Nothing shows whose it is, or whether it was removed.
 * @param pendingId the pending identity that it links; null: none
 * @throws ApiError invalid_credentials; account_suspended; and as `settle`.
 */
export async function signInByPasskey(
  deps: Pick<CompletionDeps, 'db' | 'site' | 'terms'>,
  used: UsedPasskey,
  from: From,
  pendingId: PendingId | null = null,
): Promise<Completed> {
  const signed = await verifiedBy(deps, used)
  const opened = await deps.db.transaction(async (trx) => {
    const user = await lockUser(trx, signed.userId)
    if (!user || !(await acceptPasskey(trx, user, signed))) return null
    const session = await openPassed(trx, user, from)
    return { ...session, mailIds: pendingId ? await settle(trx, user, { ...session, pendingId }, deps.terms) : [] }
  })
  if (!opened) throw wrongPasskey()
  return opened
}

/** What users prove themselves with in the middle of a session. */
export type Proof = { password: string } | { code: string } | { passkey: UsedPasskey }

/**
 * Notes that the user of a session has proved themselves again.
 * @throws ApiError wrong_password; proof_required for a password that signs nobody in; invalid_credentials for a wrong
 * code or passkey; overloaded; rate_limited.
 */
export async function proveAgain(
  deps: Deps & Pick<OwnProof, 'usesPasswords'>,
  { userId, sessionId }: Whose,
  proof: Proof,
  from: From,
): Promise<void> {
  const { db, box, usesPasswords } = deps
  if ('password' in proof) {
    const own = { ...proof, isFresh: false, usesPasswords }
    await confirmOwner(db, userId, own, { address: from.device.ip, known: true })
    return noteProof(db, sessionId, 'password')
  }
  if ('passkey' in proof) {
    const signed = await verifiedBy(deps, proof.passkey)
    const isRight = await db.transaction(async (trx) => {
      const isTheirs = await acceptPasskey(trx, await lockOwner(trx, { userId, sessionId }), signed)
      if (isTheirs) await noteProof(trx, sessionId, 'password')
      return isTheirs
    })
    if (!isRight) throw wrongPasskey()
    return
  }
  const proved = await guessing(deps, { userId, ...from }, () =>
    db.transaction(async (trx) => {
      await lockOwner(trx, { userId, sessionId })
      const isRight = await acceptCode(trx, box, { userId, code: proof.code })
      if (isRight) await noteProof(trx, sessionId, 'code')
      return isRight || null
    }),
  )
  if (proved === null) throw wrongCode()
}
