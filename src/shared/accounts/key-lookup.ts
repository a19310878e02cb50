/**
 * Who holds a key: looked up in Postgres, or remembered for a charge, which confirms it.
 */
import { LRUCache } from 'lru-cache'
import { batched } from '../infra/batcher.ts'
import type { Db } from '../infra/db.ts'
import { isUnreachable } from '../infra/db.ts'
import { runPrepared, textArray } from '../infra/prepared.ts'
import type { AccountId, KeyId } from '../ids.ts'
import type { Modality } from '../calls/lifecycle.ts'
import type { AccountStatus } from './accounts.ts'
import { hexHashOf, looksLikeKey } from './api-keys.ts'

/** The holder of a key: the key with its limits, its account, and whether the account is active. */
export type Principal = {
  keyId: KeyId
  accountId: AccountId
  status: AccountStatus
  /** Which of the key's secrets was sent: a charge looks at it again. `REMEMBERED`: nobody has looked it up. */
  secretVersion: number
  /** The client's address; empty when it is not known. */
  address: string
  /** Whether the key may be used from there. */
  addressAllowed: boolean
  /** What it may call; null: everything. */
  models: readonly string[] | null
  modalities: readonly Modality[] | null
  /** Requests a minute; null: no limit of its own. */
  rateLimit: number | null
  /** Its account is active, no key of that has a limit that a charge judges, and it has no rate limit of its own. */
  isPlain: boolean
}

/**
 * Finds the holder of a key: null for one that is malformed (without a query), unknown, revoked or expired.
 * @param address the client's, as `clientAddress` says it.
 */
export type KeyLookup = {
  find: (secret: string, address: string) => Promise<Principal | null>
  /**
   * The holder as the last look-up found it, without a query; null for a key that is not remembered. Only a charge may
   * be based on it: it opens nothing where the key or its account is not as remembered, and answers `look_up`.
   */
  recall: (secret: string, address: string) => Principal | null
}

/** The version of the secret of a key that was remembered; real ones count from 1. */
export const REMEMBERED = 0

/** How many keys a process remembers: those used last. */
const MOST_REMEMBERED = 10_000

/** `hash` in hexadecimal. */
type Asked = { hash: string; address: string }

type PrincipalRow = {
  place: number
  id: KeyId
  account_id: AccountId
  status: AccountStatus
  version: number
  address_allowed: boolean
  models: string[] | null
  modalities: Modality[] | null
  rate_limit: number | null
  is_plain: boolean
}

/**
 * A look-up asks Postgres each time, so that a revoked key is refused at once by every process. The keys of
 * simultaneous requests are looked up in one statement, and one key from one address once.
 *
 * A key without limits is remembered, by the hash of its secret: what a charge needs of it is whose it is, which never
 * changes, and the charge itself sees under the account's lock whether it is still valid and without limits.
 */
export function createKeyLookup(db: Db): KeyLookup {
  const findAll = batched((asked: Asked[]) => findPrincipals(db, asked), isUnreachable)
  const remembered = new LRUCache<string, Pick<Principal, 'keyId' | 'accountId'>>({ max: MOST_REMEMBERED })
  return {
    find: async (secret, address) => {
      if (!looksLikeKey(secret)) return null
      const hash = hexHashOf(secret)
      const row = await findAll({ hash, address })
      if (row?.is_plain) remembered.set(hash, { keyId: row.id, accountId: row.account_id })
      else remembered.delete(hash)
      return row && principalOf(row, address)
    },
    recall: (secret, address) => {
      const known = remembered.get(hexHashOf(secret))
      return known ? { ...UNLIMITED, ...known, address } : null
    },
  }
}

/** What is taken to be true of a key that was remembered. */
const UNLIMITED = {
  status: 'active',
  secretVersion: REMEMBERED,
  addressAllowed: true,
  models: null,
  modalities: null,
  rateLimit: null,
  isPlain: true,
} as const

/**
 * As SQL, with the key's id as its binding `:keyId`: whether the key is valid and its account active at this very
 * moment.
 */
export const KEY_MAY_CALL = `EXISTS (SELECT FROM api_keys k JOIN accounts acc ON acc.id = k.account_id
  WHERE k.id = :keyId AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    AND acc.status = 'active')`

async function findPrincipals(db: Db, asked: Asked[]): Promise<(PrincipalRow | null)[]> {
  const questions = new Map(asked.map((one) => [nameOf(one), one]))
  const different = [...questions.values()]
  const rows = await runPrepared<PrincipalRow>(db, FIND, [
    textArray(different.map(({ hash }) => `\\x${hash}`)),
    textArray(different.map(({ address }) => address)),
  ])
  const found = new Map(rows.map((row) => [nameOf(different[row.place - 1]!), row]))
  return asked.map((one) => found.get(nameOf(one)) ?? null)
}

const nameOf = ({ hash, address }: Asked): string => `${hash} ${address}`

// The lists come out of subqueries, so that Postgres keeps its plan: see prepared.ts.
const FIND = {
  name: 'find_principals',
  text: `
    SELECT asked.place, k.id, k.account_id, acc.status, k.version, k.models, k.modalities, k.rate_limit,
      acc.status = 'active' AND NOT acc.keys_limited AND k.rate_limit IS NULL AS is_plain,
      k.allowed_ips IS NULL
        OR coalesce(nullif(asked.address, '')::inet <<= ANY (k.allowed_ips), false) AS address_allowed
    FROM unnest((SELECT $1::bytea[]), (SELECT $2::text[])) WITH ORDINALITY AS asked (hash, address, place)
    CROSS JOIN LATERAL (
      SELECT *, secret_version AS version FROM api_keys WHERE key_hash = asked.hash
      UNION ALL
      SELECT *, secret_version - 1 FROM api_keys WHERE previous_hash = asked.hash AND previous_until > now()
    ) k
    JOIN accounts acc ON acc.id = k.account_id
    WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
}

const principalOf = (row: PrincipalRow, address: string): Principal => ({
  keyId: row.id,
  accountId: row.account_id,
  status: row.status,
  secretVersion: row.version,
  address,
  addressAllowed: row.address_allowed,
  models: row.models,
  modalities: row.modalities,
  rateLimit: row.rate_limit,
  isPlain: row.is_plain,
})
