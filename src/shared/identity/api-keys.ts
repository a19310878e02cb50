/**
 * API keys: `tg_` + 34 random base62 characters + the CRC-32 of those 34, base62, padded to six. The checksum rejects
 * malformed keys without a query, and lets secret scanners recognise a leaked key. Only SHA-256 is stored.
 */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Db, Trx } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountId, KeyId, UserId } from '../platform/ids.ts'
import { newId } from '../platform/ids.ts'
import { importedKeysOf } from './import-origins.ts'
import type { LiveSession } from './sessions.ts'
import { isLive } from './sessions.ts'
import type { KeyChanges } from './key-limits.ts'
import { lockAccountOf, setLimits } from './key-limits.ts'
import type { Membership, Seen } from './members.ts'
import { lockAccountsOf, ownedBy, ownerOf, roleIn } from './members.ts'
import type { ApiKey } from './shown-key.ts'
import { findKey } from './shown-key.ts'
import type { Standing } from './account-limits.ts'
import { standingOf } from './account-limits.ts'

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

/** How many keys of a member may be valid at a time. */
const MAX_VALID = 100

/** How many keys a member may make in 24 hours. */
const MAX_PER_DAY = 1000

/**
 * Makes a key and returns its secret, which is shown this once. The account's row is locked meanwhile, so that keys
 * which are made at the same time count each other.
 * @param session who makes it, and whose it is: a session that ends meanwhile makes no key. The account's owner
 * if absent, for operators.
 * @throws ApiError too_many_keys; rate_limited if too many were made in a day; unauthorized if the account was deleted
 * or the session has ended.
 */
export async function createKey(
  db: Db | Trx,
  accountId: AccountId,
  name: string,
  limits: Omit<KeyChanges, 'name'> = {},
  session?: Pick<LiveSession, 'userId' | 'sessionId'>,
): Promise<NewKey> {
  const id = newId('key')
  const { secret, hash, hint } = freshSecret()
  return await db.transaction(async (trx) => {
    const held = await trx('accounts').where({ id: accountId }).whereNull('deleted_at').forNoKeyUpdate().first('id')
    if (!held || (session && !(await isLive(trx, session.sessionId)))) throw new ApiError('unauthorized')
    const userId = session?.userId ?? (await ownerOf(trx, accountId))!
    // The session may act for another account by now, and its user may be no member of this one any more.
    if (!(await roleIn(trx, { userId, accountId }))) throw new ApiError('unauthorized')
    await refuseTooMany(trx, { userId, accountId })
    await trx('api_keys').insert({ id, account_id: accountId, user_id: userId, name, key_hash: hash, hint })
    if (Object.values(limits).some((limit) => limit != null)) await setLimits(trx, id, accountId, limits)
    return { id, secret, key: (await findKey(trx, id))! }
  })
}

/** Reads only the newest thousand keys and the valid ones: a member may have made any number. */
async function refuseTooMany(trx: Trx, { userId, accountId }: Membership): Promise<void> {
  const { rows } = await trx.raw<{ rows: { valid: number; waitSeconds: number | null }[] }>(
    `
    SELECT (SELECT count(*) FROM api_keys WHERE holder_id = :userId AND account_id = :accountId) AS valid,
      (SELECT cast(ceil(extract(epoch FROM created_at - now())) + 86400 AS int) FROM api_keys
        WHERE user_id = :userId AND account_id = :accountId ORDER BY id DESC OFFSET ${MAX_PER_DAY - 1} LIMIT 1)
        AS "waitSeconds"`,
    { userId, accountId },
  )
  const { valid, waitSeconds } = rows[0]!
  if (valid >= MAX_VALID) throw new ApiError('too_many_keys')
  if (waitSeconds === null || waitSeconds <= 0) return
  throw new ApiError('rate_limited', {
    message: `At most ${MAX_PER_DAY} keys can be made a day.`,
    retryAfterSeconds: waitSeconds,
  })
}

/** The longest that a secret may outlive its rotation, in seconds. */
export const MAX_GRACE_SECONDS = 604_800

/**
 * Gives a key another secret; everything else of it stays. The secret before is good for `graceSeconds` more, and the
 * one before that for no longer.
 * @param seen keeps it to these keys.
 * @returns null if there is no such key, or it was revoked.
 */
export async function rotateKey(db: Db | Trx, id: KeyId, graceSeconds: number, seen?: Seen): Promise<NewKey | null> {
  const { secret, hash, hint } = freshSecret()
  const key = await replaceSecret(db, id, seen, {
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
    // Of a secret that nobody gets. The hint stays: by it the owner recognises the key.
    key_hash: freshSecret().hash,
  })

const replaceSecret = (
  db: Db | Trx,
  id: KeyId,
  seen: Seen | undefined,
  columns: Record<string, unknown>,
): Promise<ApiKey | null> =>
  db.transaction(async (trx) => {
    const accountId = await lockAccountOf(trx, id, seen)
    if (!accountId) return null
    await trx('api_keys')
      .where({ id })
      .update({ ...columns, secret_version: trx.raw('secret_version + 1') })
    await setLimits(trx, id, accountId, {})
    return await findKey(trx, id)
  })

/** Whose key this is, and of which account; null if there is none. */
export const holderOfKey = async (db: Db | Trx, id: KeyId): Promise<Membership | null> =>
  (await db('api_keys').where({ id }).first<Membership | undefined>({ userId: 'user_id', accountId: 'account_id' })) ??
  null

/**
 * Revokes a key; repeating it changes nothing. Every process refuses it from the next statement on.
 * @returns false if there is no key of that id among these.
 */
export async function revokeKey(db: Db | Trx, seen: Seen, id: KeyId): Promise<boolean> {
  const changed = await db('api_keys')
    .where({ id, ...ownedBy(seen) })
    .update({ revoked_at: db.raw('coalesce(revoked_at, now())') })
  return changed === 1
}

/** How many keys of a user are good, of all accounts together. */
export async function countValidKeys(db: Db | Trx, userId: UserId): Promise<number> {
  const row = await db('api_keys')
    .where({ holder_id: userId })
    .whereRaw('key_is_valid(api_keys, NULL, now())')
    .count({ valid: '*' })
    .first<{ valid: number }>()
  return Number(row.valid)
}

/**
 * Revokes every key of a user, of all accounts, also one that is just being made.
 * @param sparesImported leaves the keys that were imported from another gateway
 * @returns how many.
 */
export async function revokeKeysOfUser(trx: Trx, userId: UserId, sparesImported = false): Promise<number> {
  await lockAccountsOf(trx, userId)
  return trx('api_keys')
    .where({ holder_id: userId })
    .modify((query) => {
      if (sparesImported) void query.whereNotIn('id', importedKeysOf(trx, userId))
    })
    .update({ revoked_at: trx.fn.now() })
}

/** Revokes every key that a member has of an account. The account's row must be locked. */
export async function revokeKeysOfMember(trx: Trx, { userId, accountId }: Membership): Promise<void> {
  await trx('api_keys').where({ holder_id: userId, account_id: accountId }).update({ revoked_at: trx.fn.now() })
}

/** Revokes every key of an account, and removes what identifies their owner. */
export async function revokeAllKeys(trx: Trx, accountId: AccountId): Promise<void> {
  await trx('api_keys')
    .where({ account_id: accountId })
    .update({ name: '', allowed_ips: null, revoked_at: trx.raw('coalesce(revoked_at, now())') })
}

/** What decides the limits of the account of a key; null if there is no such key. */
export async function standingOfKey(db: Db | Trx, id: KeyId): Promise<Standing | null> {
  const holder = await holderOfKey(db, id)
  return holder && standingOf(db, holder.accountId)
}
