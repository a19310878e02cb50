/**
 * Mails about money, written in the transaction that they report. They go to verified addresses alone: another may be
 * a stranger's.
 */
import type { Trx } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import type { MailDetails, MoneyMailKind } from '../mail/mails.ts'
import { requestMail } from '../mail/mails.ts'
import { ownerAddress } from './orders.ts'

/** Queues a mail to the owner of an account, if their address is verified. */
export async function mailOwner(
  trx: Trx,
  accountId: AccountId,
  kind: MoneyMailKind | 'webhook_off',
  details: MailDetails,
): Promise<void> {
  const owner = await ownerAddress(trx, accountId)
  if (!owner?.isVerified) return
  await requestMail(trx, { id: newId('mail'), kind, recipient: owner.email, userId: owner.userId, details })
}
