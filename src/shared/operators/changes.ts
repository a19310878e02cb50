/**
 * What operators may change, each with its record in the same transaction.
 */
import type { AccountStatus } from '../accounts/accounts.ts'
import { setStatus } from '../accounts/accounts.ts'
import { ownerOf } from '../accounts/members.ts'
import type { Role } from '../users/users.ts'
import { setRole } from '../users/users.ts'
import type { Db } from '../infra/db.ts'
import type { AccountId, GrantId, MailId } from '../ids.ts'
import { publicId } from '../ids.ts'
import type { NewGrant } from '../ledger/ledger.ts'
import { grant } from '../ledger/ledger.ts'
import { requeueMails } from '../mail/mails.ts'
import type { Operator } from './actions.ts'
import { recordAction } from './actions.ts'

/** Gives credits. @returns the balance after it. @throws as `grant`. */
export const grantCredits = async (db: Db, operator: Operator, lot: NewGrant & { id: GrantId }): Promise<number> =>
  db.transaction(async (trx) => {
    const credits = await grant(trx, lot)
    await recordAction(trx, operator, 'credits_granted', lot.accountId, {
      amount: lot.amount,
      origin: lot.origin,
      grantId: publicId('grant', lot.id),
      note: lot.note ?? null,
      expiresAt: lot.expiresAt?.toISOString() ?? null,
    })
    return credits
  })

/** Suspends or activates an account; false where there is none. */
export const setAccountStatus = async (
  db: Db,
  operator: Operator,
  id: AccountId,
  status: AccountStatus,
): Promise<boolean> =>
  db.transaction(async (trx) => {
    const found = await setStatus(trx, id, status)
    if (found) await recordAction(trx, operator, status === 'suspended' ? 'account_suspended' : 'account_activated', id)
    return found
  })

/** Gives the owner of an account a role. @throws where there is no such account. */
export const setAccountRole = async (db: Db, operator: Operator, id: AccountId, role: Role): Promise<void> =>
  db.transaction(async (trx) => {
    const owner = await ownerOf(trx, id)
    if (!owner) throw new Error('there is no such account')
    await setRole(trx, owner, role)
    await recordAction(trx, operator, 'role_changed', id, { role })
  })

/** Retries dead letters, one or all, with a full set of tries. @returns how many. */
export const requeueDeadMails = async (db: Db, operator: Operator, id: MailId | 'all'): Promise<number> =>
  db.transaction(async (trx) => {
    const revived = await requeueMails(trx, id)
    if (revived > 0)
      await recordAction(
        trx,
        operator,
        'mail_revived',
        null,
        id === 'all' ? { count: revived } : { mailId: publicId('mail', id) },
      )
    return revived
  })
