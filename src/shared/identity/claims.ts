/**
 * Claiming an account: a user who was imported without an address of their own has no login until they open a link of
 * an operator and choose an address and a password. The link works once, within 7 days. Only its SHA-256 is stored.
 */
import { hash, randomBytes } from 'node:crypto'
import { requestMail } from '../mail/mails.ts'
import { ApiError } from '../platform/errors.ts'
import type { UserId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { Language } from '../terms/languages.ts'
import { withHashing } from './hashing-gate.ts'
import type { NetworkHash } from './login.ts'
import { rememberNetwork } from './login.ts'
import { hashPassword } from './passwords.ts'
import type { Registered } from './registration.ts'
import type { Device } from './sessions.ts'
import { openSession } from './sessions.ts'
import { findUser, isAddressTaken } from './users.ts'

const LIFE_DAYS = 7

const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer')

/**
 * Makes the link that claims a user, in place of the one before.
 * @returns its token, shown this once; null if the user has a login
 */
export async function makeClaim(trx: Trx, userId: UserId): Promise<string | null> {
  const token = randomBytes(32).toString('base64url')
  const changed = await trx('users')
    .where({ id: userId, unclaimed: true })
    .update({ claim_hash: hashOf(token), claim_until: trx.raw('now() + make_interval(days => ?)', [LIFE_DAYS]) })
  return changed === 1 ? token : null
}

/** Whose account a token claims; null for any other text. Spends nothing. */
async function claimedBy(db: Db | Trx, token: string): Promise<UserId | null> {
  const row = await db('users')
    .where({ claim_hash: hashOf(token) })
    .where('claim_until', '>', db.fn.now())
    .first<{ id: UserId } | undefined>('id')
  return row?.id ?? null
}

/** Fields that were checked. */
export type Claim = {
  token: string
  email: string
  password: string
  language: Language
  device: Device
  network: NetworkHash
}

/**
 * Gives a user a login, and logs them in. A refusal does not use up the link.
 * @throws ApiError invalid_token; account_suspended; email_taken; overloaded.
 */
export async function claimAccount(
  db: Db,
  { token, email, password, language, device, network }: Claim,
): Promise<Registered> {
  if (!(await claimedBy(db, token))) throw new ApiError('invalid_token')
  const passwordHash = await withHashing({ address: device.ip, known: true }, () => hashPassword(password))
  const mailId = newId('mail')
  try {
    return await db.transaction(async (trx) => {
      const userId = await claimedBy(trx, token)
      if (!userId || !(await giveLogin(trx, userId, { token, email, passwordHash, language }))) {
        throw new ApiError('invalid_token')
      }
      const user = (await findUser(trx, userId))!
      const session = await openSession(trx, { ...device, userId, accountId: user.account_id, passwordHash })
      if (!session) throw new ApiError('account_suspended')
      await requestMail(trx, { id: mailId, kind: 'verification', recipient: email, userId })
      await rememberNetwork(trx, userId, network)
      return { ...session, user, mailId }
    })
  } catch (error) {
    if (isAddressTaken(error)) throw new ApiError('email_taken')
    throw error
  }
}

type Login = { token: string; email: string; passwordHash: string; language: Language }

/** One statement, so that of simultaneous claims one wins. */
const giveLogin = async (trx: Trx, id: UserId, { token, email, passwordHash, language }: Login): Promise<boolean> =>
  (await trx('users')
    .where({ id, claim_hash: hashOf(token) })
    .update({
      email,
      password_hash: passwordHash,
      password_changed_at: trx.raw('clock_timestamp()'),
      language,
      unclaimed: false,
      claim_hash: null,
      claim_until: null,
    })) === 1
