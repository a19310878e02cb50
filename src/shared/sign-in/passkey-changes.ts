/**
 * How users add and remove passkeys. Each change is mailed and recorded in the transaction that makes it
 * (docs/sign-in.md#passkeys).
 */
import { endSessions } from '../identity/sessions.ts'
import { setSecondFactor } from '../identity/users.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId, PasskeyId } from '../platform/ids.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Whose } from './changes.ts'
import { lockOwner, note } from './changes.ts'
import { endIfLast, factorsOf, newRecoveryCodes } from './factors.ts'
import type { Ways } from './identities.ts'
import { requireWayIn } from './identities.ts'
import type { MadePasskey, Passkey, Site } from './passkeys.ts'
import { MOST_PASSKEYS, deletePasskey, insertPasskey, verifyMade } from './passkeys.ts'

/** A passkey that was added. `recoveryCodes`: those of a user whose first factor it is, shown this once; else null. */
export type Added = { passkey: Passkey; recoveryCodes: string[] | null; mailId: MailId }

/**
 * Adds the passkey that a browser has made by the challenge of this user. If it is their first factor, all other
 * sessions of the user end, and logins need a second step from now on.
 * @throws ApiError invalid_request if it was not made so; too_many_passkeys; conflict if it is stored already.
 */
export async function addPasskey(
  db: Db,
  site: Site,
  whose: Whose,
  { name, response }: { name: string; response: MadePasskey },
): Promise<Added> {
  const made = await verifyMade(db, site, whose.userId, response)
  if (!made)
    throw new ApiError('invalid_request', { message: 'response is not of a passkey made here.', param: 'response' })
  return db.transaction(async (trx) => {
    const user = await lockOwner(trx, whose)
    if ((await factorsOf(trx, user.id)).passkeys >= MOST_PASSKEYS) throw new ApiError('too_many_passkeys')
    const passkey = await insertPasskey(trx, user.id, name, {
      ...made,
      host: site.host,
      transports: response.response.transports,
    })
    if (!passkey) throw new ApiError('conflict', { message: 'This passkey was added already.' })
    if (!user.has_second_factor) {
      await setSecondFactor(trx, user.id, true)
      await endSessions(trx, user.id, whose.sessionId)
    }
    const recoveryCodes = user.has_second_factor ? null : await newRecoveryCodes(trx, user.id)
    return { passkey, recoveryCodes, mailId: await note(trx, 'passkey_added', user) }
  })
}

/** Removes a passkey; with the last factor the recovery codes end. @throws ApiError not_found; last_sign_in. */
export const removePasskey = (db: Db, whose: Whose, id: PasskeyId, ways: Ways): Promise<MailId> =>
  db.transaction(async (trx) => {
    const user = await lockOwner(trx, whose)
    if (!(await deletePasskey(trx, user.id, id))) throw new ApiError('not_found')
    await requireWayIn(trx, user.id, ways)
    await endIfLast(trx, user.id)
    return note(trx, 'passkey_removed', user)
  })
