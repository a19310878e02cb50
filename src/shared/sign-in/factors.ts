/**
 * The second factors of a user: an authenticator app, passkeys, and recovery codes for when those are lost. All changes
 * are made under the lock of the user's row, and `users.has_second_factor` changes with them: by it `openSession`
 * refuses a session without a factor.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { Config } from '../platform/config/config.ts'
import type { SecretBox } from '../platform/secret-box.ts'
import { createBox } from '../platform/secret-box.ts'
import { setSecondFactor } from '../identity/users.ts'
import { SECRET_BYTES, STEP_SECONDS, base32, stepOf } from './totp.ts'

/** Encrypts the secrets of authenticator apps. */
export type TotpBox = SecretBox<UserId>

/** The box of a configuration. */
export const createTotpBox = (config: Pick<Config, 'APP_SECRET' | 'APP_SECRET_PREVIOUS'>): TotpBox =>
  createBox(config, 'totp secrets')

/** What can be the second factor of a login. */
export const FACTORS = ['totp', 'passkey', 'recovery'] as const
/** One of them. */
export type Factor = (typeof FACTORS)[number]

/** What a user has: whether an app was confirmed, how many passkeys, and how many recovery codes are left. */
export type Factors = { totp: boolean; passkeys: number; recoveryCodes: number }

/** The second factors of a user. */
export async function factorsOf(db: Db | Trx, userId: UserId): Promise<Factors> {
  const { rows } = await db.raw<{ rows: Factors[] }>(
    `SELECT EXISTS (SELECT FROM totp_secrets WHERE user_id = :userId AND confirmed_at IS NOT NULL) AS totp,
      (SELECT count(*) FROM passkeys WHERE user_id = :userId)::int AS passkeys,
      (SELECT count(*) FROM recovery_codes WHERE user_id = :userId)::int AS "recoveryCodes"`,
    { userId },
  )
  return rows[0]!
}

/** The factors that a login can be completed with. */
export const factorNames = ({ totp, passkeys, recoveryCodes }: Factors): Factor[] => {
  const has: Record<Factor, boolean> = { totp, passkey: passkeys > 0, recovery: recoveryCodes > 0 }
  return FACTORS.filter((factor) => has[factor])
}

/** Stores a new secret of an app that is still to be confirmed. @returns null if one was confirmed already */
export async function beginTotp(trx: Trx, box: TotpBox, userId: UserId): Promise<Buffer | null> {
  const secret = randomBytes(SECRET_BYTES)
  const { rowCount } = await trx.raw<{ rowCount: number }>(
    `
    INSERT INTO totp_secrets AS t (user_id, secret) VALUES (?, ?)
    ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, created_at = now() WHERE t.confirmed_at IS NULL`,
    [userId, box.seal(userId, secret)],
  )
  return rowCount === 1 ? secret : null
}

/** Whether an app is waiting for its first code. */
export const awaitsTotp = async (trx: Trx, userId: UserId): Promise<boolean> =>
  (await trx('totp_secrets').where({ user_id: userId, confirmed_at: null }).first('user_id')) !== undefined

/** A code that somebody typed, and the app that it should be of: the confirmed one, or one that is being added. */
export type TypedCode = { userId: UserId; code: string; isNew?: boolean }

/**
 * Whether a code is right at this moment by the clock of Postgres. A step is accepted once, in any process, and no
 * earlier one after it.
 */
export async function acceptCode(trx: Trx, box: TotpBox, { userId, code, isNew = false }: TypedCode): Promise<boolean> {
  const row = await trx('totp_secrets')
    .where({ user_id: userId })
    .whereRaw('(confirmed_at IS NULL) = ?', [isNew])
    .first<{ secret: Buffer; now: number } | undefined>(
      'secret',
      trx.raw(`floor(extract(epoch FROM now()) / ${STEP_SECONDS})::int AS now`),
    )
  const secret = row && box.open(userId, row.secret)
  const step = secret ? stepOf(secret, code, row.now) : null
  if (step === null) return false
  const changed = await trx('totp_secrets')
    .where({ user_id: userId })
    .where('last_step', '<', step)
    .update({ last_step: step })
  return changed === 1
}

const CODES = 10
const CODE_BYTES = 10

const codeHash = (code: string): Buffer =>
  createHash('sha256').update(code.toUpperCase().replaceAll(/[\s-]/g, '')).digest()

/** Confirms the app of a user, who has a second factor from now on. */
export async function confirmTotp(trx: Trx, userId: UserId): Promise<void> {
  await trx('totp_secrets').where({ user_id: userId }).update({ confirmed_at: trx.fn.now() })
  await setSecondFactor(trx, userId, true)
}

/** Gives a user new recovery codes; the old ones end. @returns ten codes, shown this once */
export async function newRecoveryCodes(trx: Trx, userId: UserId): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () => base32(randomBytes(CODE_BYTES)).toLowerCase())
  await trx('recovery_codes').where({ user_id: userId }).delete()
  await trx('recovery_codes').insert(codes.map((code) => ({ user_id: userId, code_hash: codeHash(code) })))
  return codes.map((code) => code.match(/.{4}/g)!.join('-'))
}

/** Spends a recovery code; false if it is none. Case, spaces and hyphens do not matter. */
export const spendRecoveryCode = async (trx: Trx, userId: UserId, code: string): Promise<boolean> =>
  (await trx('recovery_codes')
    .where({ user_id: userId, code_hash: codeHash(code) })
    .delete()) === 1

/** Removes the app of a user; false if they have none. */
export async function deleteTotp(trx: Trx, userId: UserId): Promise<boolean> {
  const removed = await trx('totp_secrets').where({ user_id: userId }).whereNotNull('confirmed_at').delete()
  if (removed === 1) await endIfLast(trx, userId)
  return removed === 1
}

/** Ends the recovery codes of a user, and the need of a second factor, if neither app nor passkey is left. */
export async function endIfLast(trx: Trx, userId: UserId): Promise<void> {
  const { totp, passkeys } = await factorsOf(trx, userId)
  if (!totp && passkeys === 0) await deleteFactors(trx, userId)
}

/** Removes everything that a user signs in with but the password. */
export async function deleteFactors(trx: Trx, userId: UserId): Promise<void> {
  for (const table of ['totp_secrets', 'recovery_codes', 'passkeys', 'passkey_challenges'])
    await trx(table).where({ user_id: userId }).delete()
  await setSecondFactor(trx, userId, false)
}

/** Encrypts secrets anew that rest under the APP_SECRET before. @returns how many */
export async function resealTotpSecrets(db: Db, box: TotpBox): Promise<number> {
  let resealed = 0
  for (const { user_id: userId, secret } of await db('totp_secrets').select<{ user_id: UserId; secret: Buffer }[]>(
    'user_id',
    'secret',
  )) {
    const opened = box.isCurrent(userId, secret) ? null : box.open(userId, secret)
    if (opened === null) continue
    resealed += await db('totp_secrets')
      .where({ user_id: userId, secret })
      .update({ secret: box.seal(userId, opened) })
  }
  return resealed
}
