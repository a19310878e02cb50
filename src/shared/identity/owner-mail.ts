/**
 * Mails about money, written in the transaction that they report. They go to verified addresses alone: another may be
 * a stranger's.
 */
import type { Trx } from '../platform/postgres/db.ts'
import type { AccountId, UserId } from '../platform/ids.ts'
import type { MailDetails, MoneyMailKind } from '../mail/mails.ts'
import { requestNewMail } from '../mail/mails.ts'

/** Queues a mail to the owner of an account, if their address is verified. */
export async function mailOwner(
  trx: Trx,
  accountId: AccountId,
  kind: MoneyMailKind | 'webhook_off',
  details: MailDetails,
): Promise<void> {
  const owner = await ownerAddress(trx, accountId)
  if (!owner?.isVerified) return
  await requestNewMail(trx, { kind, recipient: owner.email, userId: owner.userId, details })
}

/** An address, and whose it is. */
type OwnerAddress = { email: string; isVerified: boolean; userId: UserId }

/** The owner's address of an account, and who they are. */
async function ownerAddress(trx: Trx, accountId: AccountId): Promise<OwnerAddress | null> {
  const row = await trx('members')
    .join('users', 'users.id', 'members.user_id')
    .where({ 'members.account_id': accountId, 'members.role': 'owner' })
    .first<{ email: string; email_verified_at: Date | null; id: UserId } | undefined>(
      'users.email',
      'users.email_verified_at',
      'users.id',
    )
  return row ? { email: row.email, isVerified: row.email_verified_at !== null, userId: row.id } : null
}
