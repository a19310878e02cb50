/**
 * API keys: `tg_` + 34 random base62 characters + the CRC-32 of those 34, base62, padded to six. The checksum rejects
 * malformed keys without a query, and lets secret scanners recognise a leaked key. Only SHA-256 is stored.
 */
import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { batched } from '../infra/batcher.ts'
import type { Db, Trx } from '../infra/db.ts'
import { isUnreachable } from '../infra/db.ts'
import { ApiError } from '../errors.ts'
import type { AccountId, KeyId } from '../ids.ts'
import { newId, publicId } from '../ids.ts'
import type { AccountStatus } from './accounts.ts'

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

const hashOf = (secret: string) => createHash('sha256').update(secret).digest()

/** A key as its owner sees it: never the secret. `hint`: its first 7 and last 4 characters. */
export type ApiKey = {
  id: string
  name: string
  hint: string
  createdAt: string
  lastUsedAt: string | null
  revokedAt: string | null
}

const KEY_COLUMNS = ['id', 'name', 'hint', 'created_at', 'last_used_at', 'revoked_at'] as const

type KeyRow = {
  id: KeyId
  name: string
  hint: string
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}

const presentKey = (row: KeyRow): ApiKey => ({
  id: publicId('key', row.id),
  name: row.name,
  hint: row.hint,
  createdAt: row.created_at.toISOString(),
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
  revokedAt: row.revoked_at?.toISOString() ?? null,
})

/** A new key, with the secret that cannot be read again. */
export type NewKey = { id: KeyId; secret: string; key: ApiKey }

/** How many keys of an account may be valid at a time. */
const MAX_VALID = 100

/** How many keys an account may make in 24 hours, and how many of its revoked ones it is shown. */
const MAX_PER_DAY = 1000

/**
 * Makes a key and answers its secret, which is shown this once. The account's row is locked meanwhile, so that keys
 * which are made at the same time count each other.
 * @throws ApiError too_many_keys, or rate_limited where too many were made in a day.
 */
export async function createKey(db: Db | Trx, accountId: AccountId, name: string): Promise<NewKey> {
  const id = newId('key')
  const secret = newSecret()
  const hint = `${secret.slice(0, 7)}…${secret.slice(-4)}`
  return await db.transaction(async (trx) => {
    await trx.raw('SELECT FROM accounts WHERE id = ? FOR NO KEY UPDATE', [accountId])
    await refuseTooMany(trx, accountId)
    const [row] = await trx('api_keys')
      .insert({ id, account_id: accountId, name, key_hash: hashOf(secret), hint })
      .returning<KeyRow[]>([...KEY_COLUMNS])
    return { id, secret, key: presentKey(row!) }
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

/** The keys of an account, newest first: all that are valid, and the newest thousand of those that were revoked. */
export async function listKeys(db: Db, accountId: AccountId): Promise<ApiKey[]> {
  const columns = KEY_COLUMNS.join(', ')
  const { rows } = await db.raw<{ rows: KeyRow[] }>(
    `
    SELECT * FROM (
      SELECT ${columns} FROM api_keys WHERE account_id = :accountId AND revoked_at IS NULL
      UNION ALL
      (SELECT ${columns} FROM api_keys WHERE account_id = :accountId AND revoked_at IS NOT NULL
        ORDER BY id DESC LIMIT ${MAX_PER_DAY})
    ) AS keys ORDER BY id DESC`,
    { accountId },
  )
  return rows.map(presentKey)
}

/**
 * Revokes a key; repeating it changes nothing. Every process refuses it from the next statement on.
 * @returns false where the account has no key of that id.
 */
export async function revokeKey(db: Db, accountId: AccountId, id: KeyId): Promise<boolean> {
  const changed = await db('api_keys')
    .where({ id, account_id: accountId })
    .update({ revoked_at: db.raw('coalesce(revoked_at, now())') })
  return changed === 1
}

/** Revokes every key of an account, and takes their names away. */
export async function revokeAllKeys(trx: Trx, accountId: AccountId): Promise<void> {
  await trx('api_keys')
    .where({ account_id: accountId })
    .update({ name: '', revoked_at: trx.raw('coalesce(revoked_at, now())') })
}

/** The holder of a key: the key, its account, and whether the account is active. */
export type Principal = { keyId: KeyId; accountId: AccountId; status: AccountStatus }

/** Finds the holder of a key: null for one that is malformed (without a query), unknown or revoked. */
export type KeyLookup = { find: (secret: string) => Promise<Principal | null> }

type PrincipalRow = { key_hash: Buffer; id: KeyId; account_id: AccountId; status: AccountStatus }

/**
 * A lookup in Postgres each time, so that a revoked key is refused at once by every process. The keys of simultaneous
 * requests are looked up in one statement.
 */
export function createKeyLookup(db: Db): KeyLookup {
  const findAll = batched((hashes: Buffer[]) => findPrincipals(db, hashes), isUnreachable)
  return { find: async (secret) => (looksLikeKey(secret) ? await findAll(hashOf(secret)) : null) }
}

/**
 * As SQL, with the key's id as its binding `:keyId`: whether the key is valid and its account active at this very
 * moment.
 */
export const KEY_MAY_CALL = `EXISTS (SELECT FROM api_keys k JOIN accounts acc ON acc.id = k.account_id
  WHERE k.id = :keyId AND k.revoked_at IS NULL AND acc.status = 'active')`

async function findPrincipals(db: Db, hashes: Buffer[]): Promise<(Principal | null)[]> {
  const { rows } = await db
    .raw<{ rows: PrincipalRow[] }>(
      `
    SELECT k.key_hash, k.id, k.account_id, acc.status FROM api_keys k JOIN accounts acc ON acc.id = k.account_id
    WHERE k.key_hash = ANY (?::bytea[]) AND k.revoked_at IS NULL`,
      [hashes],
    )
    .options({ name: 'find_principals' })
  const found = new Map(
    rows.map((row) => [row.key_hash.toString('hex'), { keyId: row.id, accountId: row.account_id, status: row.status }]),
  )
  return hashes.map((hash) => found.get(hash.toString('hex')) ?? null)
}
