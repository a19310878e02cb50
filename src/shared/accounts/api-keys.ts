/**
 * API keys: `tg_` + 34 random base62 characters + the CRC-32 of those 34, base62, padded to six. The checksum rejects
 * malformed keys without a query, and lets secret scanners recognise a leaked key. Only SHA-256 is stored.
 */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountId, KeyId, SessionId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import { isLive } from '../users/sessions.ts'
import type { KeyChanges } from './key-limits.ts'
import { lockOwner, setLimits } from './key-limits.ts'
import type { ApiKey } from './shown-key.ts'
import { findKey } from './shown-key.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_CHARACTERS = 34
const PATTERN = /^tg_([0-9A-Za-z]{34})([0-9A-Za-z]{6})$/

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let place = 0; place < 6; place++) {
    digits = ALPHABET[rest % 62]! + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

/** A new secret with about 202 bits of entropy. */
export function newSecret(): string {
  let body = ''
  while (body.length < RANDOM_CHARACTERS) {
    // 248 = 4 × 62: using the bytes above it would make some letters likelier.
    for (const byte of randomBytes(48)) if (byte < 248 && body.length < RANDOM_CHARACTERS) body += ALPHABET[byte % 62]
  }
  return `tg_${body}${checksum(body)}`
}

/** Whether a text has the form of a key and its checksum is right. */
export function looksLikeKey(text: string): boolean {
  const match = PATTERN.exec(text)
  return match !== null && checksum(match[1]!) === match[2]
}

/** What is stored of a secret. */
const hashOf = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** The same in hexadecimal, made at once: each request with a key needs it. */
export const hexHashOf = (secret: string): string => hash('sha256', secret, 'hex')

/** A key with its secret, which cannot be read again. */
export type NewKey = { id: KeyId; secret: string; key: ApiKey }

/** A fresh secret: what is stored of it, and what it is recognised by. */
function freshSecret(): { secret: string; hash: Buffer; hint: string } {
  const secret = newSecret()
  return { secret, hash: hashOf(secret), hint: `${secret.slice(0, 7)}…${secret.slice(-4)}` }
}

/** How many keys of an account may be valid at a time. */
const MAX_VALID = 100

/** How many keys an account may make in 24 hours. */
const MAX_PER_DAY = 1000

/**
 * Makes a key and answers its secret, which is shown this once. The account's row is locked meanwhile, so that keys
 * which are made at the same time count each other.
 * @param session who makes it: a session that ends meanwhile leaves no key behind.
 * @throws ApiError too_many_keys; rate_limited if too many were made in a day; unauthorized if the account was deleted
 * or the session has ended.
 */
export async function createKey(
  db: Db | Trx,
  accountId: AccountId,
  name: string,
  limits: Omit<KeyChanges, 'name'> = {},
  session?: SessionId,
): Promise<NewKey> {
  const id = newId('key')
  const { secret, hash, hint } = freshSecret()
  return await db.transaction(async (trx) => {
    const held = await trx('accounts').where({ id: accountId }).whereNull('deleted_at').forNoKeyUpdate().first('id')
    if (!held || (session && !(await isLive(trx, session)))) throw new ApiError('unauthorized')
    await refuseTooMany(trx, accountId)
    await trx('api_keys').insert({ id, account_id: accountId, name, key_hash: hash, hint })
    if (Object.values(limits).some((limit) => limit != null)) await setLimits(trx, id, accountId, limits)
    return { id, secret, key: (await findKey(trx, id))! }
  })
}

/** Reads only the newest thousand keys and the valid ones: an account may have made any number. */
async function refuseTooMany(trx: Trx, accountId: AccountId): Promise<void> {
  const {
    rows: [counts],
  } = await trx.raw<{ rows: { valid: number; waitSeconds: number | null }[] }>(
    `
    SELECT (SELECT count(*) FROM api_keys WHERE account_id = :accountId AND revoked_at IS NULL) AS valid,
      (SELECT cast(ceil(extract(epoch FROM created_at - now())) + 86400 AS int) FROM api_keys
        WHERE account_id = :accountId ORDER BY id DESC OFFSET ${MAX_PER_DAY - 1} LIMIT 1) AS "waitSeconds"`,
    { accountId },
  )
  if (counts!.valid >= MAX_VALID) throw new ApiError('too_many_keys')
  const { waitSeconds } = counts!
  if (waitSeconds === null || waitSeconds <= 0) return
  throw new ApiError('rate_limited', {
    message: `An account can create at most ${MAX_PER_DAY} keys a day.`,
    retryAfterSeconds: waitSeconds,
  })
}

/** The longest that a secret may outlive its rotation, in seconds. */
export const MAX_GRACE_SECONDS = 604_800

/**
 * Gives a key another secret; everything else of it stays. The secret before is good for `graceSeconds` more, and the
 * one before that for no longer.
 * @param accountId keeps it to the keys of that account.
 * @returns null if there is no such key, or it was revoked.
 */
export async function rotateKey(
  db: Db | Trx,
  id: KeyId,
  graceSeconds: number,
  accountId?: AccountId,
): Promise<NewKey | null> {
  const { secret, hash, hint } = freshSecret()
  const key = await replaceSecret(db, id, accountId, {
    // Of a secret that was ended nothing goes on.
    previous_hash: graceSeconds > 0 ? db.raw('CASE WHEN secret_ended_at IS NULL THEN key_hash END') : null,
    previous_until:
      graceSeconds > 0
        ? db.raw('CASE WHEN secret_ended_at IS NULL THEN now() + make_interval(secs => ?) END', [graceSeconds])
        : null,
    secret_ended_at: null,
    key_hash: hash,
    hint,
  })
  return key && { id, secret, key }
}

/**
 * Ends the secret of a key, and the one before it, at once. Nobody has another: it is the owner's to rotate the key.
 * @returns null if there is no such key, or it was revoked.
 */
export const endSecret = (trx: Trx, id: KeyId): Promise<ApiKey | null> =>
  replaceSecret(trx, id, undefined, {
    previous_hash: null,
    previous_until: null,
    secret_ended_at: trx.fn.now(),
    // Of a secret that is told to nobody. The hint stays: by it the owner recognises the key.
    key_hash: freshSecret().hash,
  })

const replaceSecret = (
  db: Db | Trx,
  id: KeyId,
  accountId: AccountId | undefined,
  columns: Record<string, unknown>,
): Promise<ApiKey | null> =>
  db.transaction(async (trx) => {
    const owner = await lockOwner(trx, id, accountId)
    if (!owner) return null
    await trx('api_keys')
      .where({ id })
      .update({ ...columns, secret_version: trx.raw('secret_version + 1') })
    await setLimits(trx, id, owner, {})
    return await findKey(trx, id)
  })

/** Whose key this is; null if there is none. */
export async function accountOfKey(db: Db | Trx, id: KeyId): Promise<AccountId | null> {
  const row = await db('api_keys').where({ id }).first<{ account_id: AccountId } | undefined>('account_id')
  return row?.account_id ?? null
}

/**
 * Revokes a key; repeating it changes nothing. Every process refuses it from the next statement on.
 * @returns false if the account has no key of that id.
 */
export async function revokeKey(db: Db | Trx, accountId: AccountId, id: KeyId): Promise<boolean> {
  const changed = await db('api_keys')
    .where({ id, account_id: accountId })
    .update({ revoked_at: db.raw('coalesce(revoked_at, now())') })
  return changed === 1
}

/** How many keys of an account are good. */
export async function countValidKeys(db: Db | Trx, accountId: AccountId): Promise<number> {
  const row = await db('api_keys')
    .where({ account_id: accountId })
    .whereRaw('key_is_valid(api_keys, NULL, now())')
    .count({ valid: '*' })
    .first<{ valid: number }>()
  return Number(row.valid)
}

/** Revokes every key of an account, also one that is just being made. @returns how many. */
export async function revokeKeys(trx: Trx, accountId: AccountId): Promise<number> {
  await trx('accounts').where({ id: accountId }).forNoKeyUpdate().select('id')
  return trx('api_keys').where({ account_id: accountId }).whereNull('revoked_at').update({ revoked_at: trx.fn.now() })
}

/** Revokes every key of an account, and removes what identifies their owner. */
export async function revokeAllKeys(trx: Trx, accountId: AccountId): Promise<void> {
  await trx('api_keys')
    .where({ account_id: accountId })
    .update({ name: '', allowed_ips: null, revoked_at: trx.raw('coalesce(revoked_at, now())') })
}
