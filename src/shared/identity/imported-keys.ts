/**
 * Keys of other gateways, which continue to work (docs/migrating.md): `sk-` and 16 to 128 characters. They are looked
 * up only where keys were imported; without that, none of them costs a query.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountId, KeyId, UserId } from '../platform/ids.ts'
import { gatewaysOfKeys } from './import-origins.ts'
import type { KeyChanges } from './key-limits.ts'
import { setLimits } from './key-limits.ts'

const WHOLE = /^sk-[A-Za-z0-9_-]{16,128}$/

/** A key of new-api or one-api, with `sk-` or without it, and what they ignore behind it: the number of a channel. */
const SUFFIXED = /^(?:sk-)?(?=[A-Za-z0-9_-]{16,128}$)([A-Za-z0-9]{16,128})(?:-[A-Za-z0-9_-]*)?$/

/** Which keys may be there: of any gateway, and of one that takes them in several spellings. */
type Known = { any: boolean; suffixed: boolean }

/** What a text may be stored as: none for one that cannot be such a key, two at most. Pure. */
export function spellingsOf(text: string, { any, suffixed }: Known): string[] {
  const bare = suffixed ? SUFFIXED.exec(text)?.[1] : undefined
  const spellings = [...(any && WHOLE.test(text) ? [text] : []), ...(bare === undefined ? [] : [`sk-${bare}`])]
  return [...new Set(spellings)]
}

/** For how long it is remembered that no key was imported, in ms. */
const REMEMBERED_MS = 1000

/**
 * The spellings of keys, by what was imported. That there are keys is remembered for good, that there are none for a
 * second: texts that could be such keys cost one query a second then, whatever their number.
 */
export function createSpellings(db: Db, clock: { now: () => number }): (text: string) => Promise<string[]> {
  let known: Known = { any: false, suffixed: false }
  let readAt = -Infinity
  let reading: Promise<void> | undefined
  const read = async (): Promise<void> => {
    known = await readKnown(db)
    readAt = clock.now()
  }
  return async (text) => {
    if (spellingsOf(text, ALL).length === 0) return []
    if (!(known.any && known.suffixed) && clock.now() - readAt >= REMEMBERED_MS) {
      reading ??= read().finally(() => (reading = undefined))
      await reading
    }
    return spellingsOf(text, known)
  }
}

const ALL: Known = { any: true, suffixed: true }

async function readKnown(db: Db): Promise<Known> {
  const gateways = await gatewaysOfKeys(db)
  return { any: gateways.length > 0, suffixed: gateways.some((gateway) => gateway !== 'litellm') }
}

/** A key as it is imported. `hash`: SHA-256 of the whole key, in hexadecimal. */
export type ImportedKey = {
  id: KeyId
  accountId: AccountId
  userId: UserId
  name: string
  hash: string
  hint: string
  isRevoked: boolean
  limits: Omit<KeyChanges, 'name'>
}

/**
 * Stores a key of another gateway. The account's row must be locked.
 * @throws if there is a key with this hash (by a constraint).
 */
export async function addImportedKey(trx: Trx, key: ImportedKey): Promise<void> {
  await trx('api_keys').insert({
    id: key.id,
    account_id: key.accountId,
    user_id: key.userId,
    name: key.name,
    key_hash: Buffer.from(key.hash, 'hex'),
    hint: key.hint,
    revoked_at: key.isRevoked ? trx.fn.now() : null,
  })
  if (Object.values(key.limits).some((limit) => limit != null)) {
    await setLimits(trx, key.id, key.accountId, key.limits)
  }
}

/** Which of these hashes, in hexadecimal, keys have already. */
export async function takenHashes(db: Db | Trx, hashes: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.raw<{ rows: { hash: string }[] }>(
    `
    SELECT encode(key_hash, 'hex') AS hash FROM api_keys WHERE key_hash = ANY (:hashes::text[]::bytea[])
    UNION ALL
    SELECT encode(previous_hash, 'hex') FROM api_keys WHERE previous_hash = ANY (:hashes::text[]::bytea[])`,
    { hashes: hashes.map((hash) => `\\x${hash}`) },
  )
  return new Set(rows.map(({ hash }) => hash))
}
