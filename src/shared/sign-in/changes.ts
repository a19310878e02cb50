/** What every change of how users sign in has: its mail, its entry of the log, and the lock that it is made under. */
import type { ActionKind, Operator } from '../action-log/actions.ts'
import { recordAction } from '../action-log/actions.ts'
import type { LiveSession } from '../identity/sessions.ts'
import { isLive } from '../identity/sessions.ts'
import type { UserFields } from '../identity/users.ts'
import { findUser, lockUser } from '../identity/users.ts'
import { requestNewMail } from '../mail/mails.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountId, MailId } from '../platform/ids.ts'
import type { Trx } from '../platform/postgres/db.ts'

/** What is mailed and recorded. */
export type SignInChange = Extract<
  ActionKind,
  | 'totp_added'
  | 'totp_removed'
  | 'recovery_code_used'
  | 'second_factor_reset'
  | 'passkey_added'
  | 'passkey_removed'
  | 'passkey_refused'
  | 'identity_linked'
  | 'identity_removed'
>

/** Mails and records a change. `by`: the operator who made it, and the account by which they named the user. */
export async function note(
  trx: Trx,
  change: SignInChange,
  user: UserFields,
  by: { operator: Operator; accountId: AccountId } | null = null,
): Promise<MailId> {
  const { operator, accountId } = by ?? {
    operator: user.id,
    accountId: (await findUser(trx, user.id))!.account_id,
  }
  await recordAction(trx, operator, change, accountId)
  return requestNewMail(trx, {
    kind: 'sign_in_changed',
    recipient: user.email,
    userId: user.id,
    details: { change },
  })
}

/** The session of a user who changes how they sign in. */
export type Whose = Pick<LiveSession, 'userId' | 'sessionId'>

/** Locks the user of a session that still is. @throws ApiError unauthorized if it has ended. */
export async function lockOwner(trx: Trx, { userId, sessionId }: Whose): Promise<UserFields> {
  const user = await lockUser(trx, userId)
  if (!user || !(await isLive(trx, sessionId))) throw new ApiError('unauthorized')
  return user
}
