/** Who holds a key, and whether it is valid: `key_is_valid` alone decides it (sql/key_is_valid.sql). */
import { LRUCache } from 'lru-cache'
import { batched, runPrepared, textArray } from '../platform/postgres/batcher.ts'
import type { Db } from '../platform/postgres/db.ts'
import { isUnreachable } from '../platform/postgres/db.ts'
import type { AccountId, KeyId, UserId } from '../platform/ids.ts'
import type { Modality } from '../terms/kinds.ts'
import type { Standing, AllowanceColumns, TokenAllowance } from './account-limits.ts'
import type { AccountStatus } from './accounts.ts'
import { hexHashOf, looksLikeKey } from './api-keys.ts'
import { createSpellings } from './imported-keys.ts'
import { allowancesOf } from './account-limits.ts'

/** The holder of a key: the key with its limits, its account, and whether the account is active. */
export type Principal = {
  keyId: KeyId
  accountId: AccountId
  /** The member whose key it is. */
  userId: UserId
  status: AccountStatus
  /** Which of the key's secrets was sent: a charge checks it again. */
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
  /** What was left of the tokens of a minute, of its account and of its own. */
  tokens: readonly TokenAllowance[]
} & Standing

/** `address` is the client's, as `clientAddress` returns it. */
export type KeyLookup = {
  /**
   * Finds the holder of a key: null for one that is malformed (without a query), unknown, revoked or expired. The keys
   * of other gateways are found where some were imported.
   */
  find: (secret: string, address: string) => Promise<Principal | null>
  /**
   * What `find` found within the last second: nothing may be refused or answered by it, only a charge tried. Undefined
   * where nothing was found, or a holder who may not call from this address.
   */
  recent: (secret: string, address: string) => Principal | undefined
}

/** How long a holder is remembered, in ms, and how many of them: some 1 kB each. */
const REMEMBERED = { ttl: 1000, max: 10_000 }

/** `hash` in hexadecimal. */
type Asked = { hash: string; address: string }

type PrincipalRow = Omit<Principal, 'address' | 'accountLimits' | 'tokens'> & {
  place: number
  accountRateLimit: number | null
  accountMaxOutstanding: number | null
} & AllowanceColumns

/**
 * A look-up asks Postgres each time, so that a revoked key is refused at once by every process. The keys of
 * simultaneous requests are looked up in one statement.
 * @param clock in ms, for tests
 */
export function createKeyLookup(db: Db, clock = { now: () => performance.now() }): KeyLookup {
  const findTogether = batched((asked: Asked[]) => findPrincipals(db, asked), isUnreachable)
  const spellingsOf = createSpellings(db, clock)
  const remembered = new LRUCache<string, Principal>({ ...REMEMBERED, ttlResolution: 0, perf: clock })
  return {
    find: async (secret, address) => {
      const spellings = looksLikeKey(secret) ? [secret] : await spellingsOf(secret)
      if (spellings.length === 0) return null
      const rows = await Promise.all(spellings.map((text) => findTogether({ hash: hexHashOf(text), address })))
      const row = rows.find((one) => one !== null)
      const holder = row ? principalOf(row, address) : null
      const name = nameOf({ hash: hexHashOf(secret), address })
      if (holder?.addressAllowed && holder.status === 'active') remembered.set(name, holder)
      else remembered.delete(name)
      return holder
    },
    recent: (secret, address) => remembered.get(nameOf({ hash: hexHashOf(secret), address })),
  }
}

const nameOf = ({ hash, address }: Asked): string => `${hash} ${address}`

async function findPrincipals(db: Db, asked: Asked[]): Promise<(PrincipalRow | null)[]> {
  const rows = await runPrepared<PrincipalRow>(db, FIND, [
    textArray(asked.map(({ hash }) => `\\x${hash}`)),
    textArray(asked.map(({ address }) => address)),
  ])
  const found = new Map(rows.map((row) => [row.place, row]))
  return asked.map((_, index) => found.get(index + 1) ?? null)
}

// The lists come from subqueries, so that Postgres reuses its plan: see batcher.ts.
const FIND = {
  name: 'find_principals',
  text: `
    SELECT asked.place, k.id AS "keyId", k.account_id AS "accountId", k.user_id AS "userId", acc.status,
      k.version AS "secretVersion", k.models, k.modalities, k.rate_limit AS "rateLimit",
      k.address_allowed AS "addressAllowed", acc.group_name AS "group",
      acc.rate_limit AS "accountRateLimit", acc.max_outstanding AS "accountMaxOutstanding",
      token_allowance(acc.tokens_per_minute, acc.token_window_at, acc.token_window_used, 0, now()) AS account_tokens,
      token_allowance(k.tokens_per_minute, k.token_window_at, k.token_window_used, 0, now()) AS key_tokens
    FROM unnest((SELECT $1::bytea[]), (SELECT $2::text[])) WITH ORDINALITY AS asked (hash, address, place)
    CROSS JOIN LATERAL (
      SELECT k.*, k.secret_version AS version, key_allows_address(k, asked.address) AS address_allowed FROM api_keys k
      WHERE k.key_hash = asked.hash AND key_is_valid(k, k.secret_version, now())
      UNION ALL
      SELECT k.*, k.secret_version - 1, key_allows_address(k, asked.address) FROM api_keys k
      WHERE k.previous_hash = asked.hash AND key_is_valid(k, k.secret_version - 1, now())
    ) k
    JOIN accounts acc ON acc.id = k.account_id`,
}

function principalOf(row: PrincipalRow, address: string): Principal {
  const { place: _place, accountRateLimit: rateLimit, accountMaxOutstanding: maxOutstanding, ...more } = row
  const { account_tokens: _ofAccount, key_tokens: _ofKey, ...holder } = more
  return { ...holder, address, accountLimits: { rateLimit, maxOutstanding }, tokens: allowancesOf(row) }
}
