/**
 * Registration: user, account, signup grant, verification mail and first session are one transaction. None is stored
 * without the others.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { Language } from '../terms/languages.ts'
import { ApiError } from '../platform/errors.ts'
import type { MailId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import { requestMail } from '../mail/mails.ts'
import { withHashing } from './hashing-gate.ts'
import type { NetworkHash } from './login.ts'
import { rememberNetwork } from './login.ts'
import { hashPassword } from './passwords.ts'
import type { Device, OpenedSession } from './sessions.ts'
import { openSession } from './sessions.ts'
import type { SignupTerms } from './signup-credits.ts'
import { giveSignupCredits } from './signup-credits.ts'
import type { UserRow } from './users.ts'
import { createUser } from './users.ts'

/** Fields that were checked, and what registration itself grants. */
export type Registration = SignupTerms & {
  email: string
  password: string
  displayName?: string
  language: Language
  device: Device
  network: NetworkHash
}

/** A new user and their account. `mailId`: the verification mail, to be enqueued now that it is committed. */
export type Registered = OpenedSession & { user: UserRow; mailId: MailId }

/**
 * Makes a user and their account.
 * @throws ApiError email_taken, also by a registration of the same moment; overloaded.
 */
export async function register(
  db: Db,
  { email, password, displayName, language, device, network, ...terms }: Registration,
): Promise<Registered> {
  const passwordHash = await withHashing({ address: device.ip, known: false }, () => hashPassword(password))
  const [userId, accountId] = [newId('user'), newId('account')]
  const mailId = newId('mail')
  return db.transaction(async (trx) => {
    const made = await createUser(trx, { id: userId, accountId, email, passwordHash, displayName, language })
    if (!made) throw new ApiError('email_taken')
    const user = await giveSignupCredits(trx, made, terms)
    await requestMail(trx, { id: mailId, kind: 'verification', recipient: email, userId })
    const session = await openSession(trx, { ...device, userId, accountId, passwordHash })
    await rememberNetwork(trx, userId, network)
    return { ...session!, user, mailId }
  })
}
