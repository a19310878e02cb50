/**
 * What a pending identity becomes once somebody has signed in: it is linked to them. Only those call it who have just
 * proved the user, in the transaction that opens the session (docs/sign-in.md#connecting-an-account).
 */
import { joinBy } from '../identity/invitations.ts'
import type { SignupTerms } from '../identity/signup-credits.ts'
import { noteFactorAtProvider } from '../identity/sessions.ts'
import type { UserFields } from '../identity/users.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, PendingId, SessionId } from '../platform/ids.ts'
import type { Trx } from '../platform/postgres/db.ts'
import { holderOf, linkIdentity, noteIdentity } from './identities.ts'
import { takePending } from './pending.ts'

/** A pending identity, and the session that was just opened. */
export type Settled = { pendingId: PendingId; sessionId: SessionId }

/**
 * Links a pending identity to a user, whose row is locked, and accepts the invitation that it came with. One that is
 * gone links nothing. If its provider has asked for a second factor, the session notes that. @returns mails, to be
 * enqueued.
 * @throws ApiError identity_taken; forbidden if its verified address is another one than the user's.
 */
export async function settle(
  trx: Trx,
  user: UserFields,
  { pendingId, sessionId }: Settled,
  terms: SignupTerms,
): Promise<MailId[]> {
  const pending = await takePending(trx, pendingId)
  if (!pending) return []
  if (pending.hasPassedFactor) await noteFactorAtProvider(trx, sessionId)
  const mailIds: MailId[] = []
  if ((await holderOf(trx, pending)) === user.id) await noteIdentity(trx, pending)
  else {
    if (pending.isVerified && pending.email !== user.email)
      throw new ApiError('forbidden', { message: `Only the account of ${pending.email} can be connected.` })
    mailIds.push(await linkIdentity(trx, user, pending))
  }
  const { invitationHash } = pending
  if (invitationHash) mailIds.push(...(await join(trx, user, invitationHash, terms)))
  return mailIds
}

/** An invitation that cannot be accepted stops no sign-in; what was done of it is undone. */
async function join(trx: Trx, user: UserFields, hash: Buffer, terms: SignupTerms): Promise<MailId[]> {
  try {
    const { proof } = await trx.transaction((savepoint) => joinBy(savepoint, user, hash, terms))
    return proof?.mailId ? [proof.mailId] : []
  } catch (error) {
    if (error instanceof ApiError) return []
    throw error
  }
}
