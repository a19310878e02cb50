/** What operators may change of any key, each with its record in the same transaction. */
import type { NewKey } from '../identity/api-keys.ts'
import { endSecret, holderOfKey, revokeKey, rotateKey } from '../identity/api-keys.ts'
import type { KeyChanges } from '../identity/key-limits.ts'
import { changeKey } from '../identity/key-limits.ts'
import type { ApiKey } from '../identity/shown-key.ts'
import { allOf } from '../identity/members.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { KeyId, MailId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import { requestNewMail } from '../mail/mails.ts'
import { findUser } from '../identity/users.ts'
import type { ActionDetails, Operator } from '../action-log/actions.ts'
import { recordAction } from '../action-log/actions.ts'

/** Changes the name or the limits of any key. @returns the key as it is then; null if there is none to change. */
export const changeAnyKey = async (
  db: Db,
  operator: Operator,
  id: KeyId,
  changes: KeyChanges,
): Promise<ApiKey | null> =>
  db.transaction(async (trx) => {
    const key = await changeKey(trx, id, changes)
    if (key) await recordOnKey(trx, operator, 'key_limited', id, describe(changes))
    return key
  })

/** A key whose secret was ended, and the mail that notifies its holder, to be enqueued. */
export type EndedSecret = { key: ApiKey; mailId: MailId }

/**
 * Ends the secret of any key at once. No operator sees another one: its holder makes it, and is notified by mail.
 * @returns null if there is no such key, or it was revoked.
 */
export const endSecretOfAnyKey = async (db: Db, operator: Operator, id: KeyId): Promise<EndedSecret | null> =>
  db.transaction(async (trx) => {
    const key = await endSecret(trx, id)
    if (!key) return null
    await recordOnKey(trx, operator, 'key_rotated', id, { secret: 'ended' })
    return { key, mailId: await mailHolder(trx, id, key, 'ended') }
  })

/** Gives any key another secret; its holder is notified by mail. @returns null if there is none, or it was revoked. */
export const rotateAnyKey = async (
  db: Db,
  operator: Operator,
  id: KeyId,
  graceSeconds: number,
): Promise<NewKey | null> =>
  db.transaction(async (trx) => {
    const rotated = await rotateKey(trx, id, graceSeconds)
    if (!rotated) return null
    await recordOnKey(trx, operator, 'key_rotated', id, { graceSeconds })
    await mailHolder(trx, id, rotated.key, 'replaced')
    return rotated
  })

/** Revokes any key; false if there is none. */
export const revokeAnyKey = async (db: Db, operator: Operator, id: KeyId): Promise<boolean> =>
  db.transaction(async (trx) => {
    const holder = await holderOfKey(trx, id)
    const found = holder !== null && (await revokeKey(trx, allOf(holder.accountId), id))
    if (found) await recordOnKey(trx, operator, 'key_revoked', id, {})
    return found
  })

async function mailHolder(trx: Trx, id: KeyId, { name, hint }: ApiKey, secret: 'ended' | 'replaced'): Promise<MailId> {
  const { userId } = (await holderOfKey(trx, id))!
  const recipient = (await findUser(trx, userId))!.email
  return requestNewMail(trx, { kind: 'key_rotated', recipient, userId, details: { name, hint, secret } })
}

const recordOnKey = async (
  trx: Trx,
  operator: Operator,
  action: 'key_limited' | 'key_rotated' | 'key_revoked',
  id: KeyId,
  details: ActionDetails,
): Promise<void> =>
  recordAction(trx, operator, action, (await holderOfKey(trx, id))?.accountId ?? null, {
    keyId: publicId('key', id),
    ...details,
  })

/** Changes in words: a limit that was lifted is null. */
const describe = ({ budget, expiresAt, ...plain }: KeyChanges): ActionDetails => ({
  ...Object.fromEntries(
    Object.entries(plain).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  ),
  ...(expiresAt !== undefined && { expiresAt: expiresAt?.toISOString() ?? null }),
  ...(budget !== undefined && { budget: budget && `${budget.credits} (${budget.period})` }),
})
