/**
 * What was imported from other gateways (src/shared/operators/import): which thing there is which one here. Each is
 * imported once, known by its source and its id there.
 */
import { hash } from 'node:crypto'
import type { AccountId, KeyId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { AccountStatus } from './accounts.ts'

/** A gateway whose accounts are imported: the operator's name for it, and what it is. */
export type ImportSource = { name: string; gateway: string }

/** `user`: with their own account. `member`: of an organisation. */
export type OriginKind = 'user' | 'organisation' | 'member' | 'key'

/** What a thing there is here. */
export type NewOrigin = {
  kind: OriginKind
  theirId: string
  accountId: AccountId
  /** Of a user or a member. */
  userId?: UserId
  /** Of a key. */
  keyId?: KeyId
  /** Whether it is turned off there. */
  off: boolean
}

/** A thing that was imported, as it is by now. `granted`: credits of all grants that it was imported with. */
export type KnownOrigin = {
  accountId: AccountId
  userId: UserId | null
  keyId: KeyId | null
  granted: number
  off: boolean
  status: AccountStatus
  isDeleted: boolean
}

/** What becomes of an id once its account is deleted: it may name a person. */
const forgotten = (theirId: string): string => `sha256:${hash('sha256', theirId, 'hex')}`

/** Locks a source, so that its imports take turns; makes it the first time. */
export async function holdSource(trx: Trx, { name, gateway }: ImportSource): Promise<void> {
  await trx('import_sources').insert({ name, gateway }).onConflict('name').ignore()
  await trx('import_sources').where({ name }).forUpdate().first('name')
}

/** The gateway that a source is; null for one that nothing was imported from. */
export const gatewayOf = async (db: Db, name: string): Promise<string | null> =>
  (await db('import_sources').where({ name }).first<{ gateway: string } | undefined>('gateway'))?.gateway ?? null

/** Which of these ids of a source were imported, by `nameOf` their kind and id. */
export async function originsOf(
  db: Db | Trx,
  source: string,
  theirIds: readonly string[],
): Promise<Map<string, KnownOrigin>> {
  const asked = new Map(theirIds.flatMap((id) => [[id, id] as const, [forgotten(id), id] as const]))
  const { rows } = await db.raw<{ rows: (KnownOrigin & { kind: OriginKind; theirId: string })[] }>(
    `
    SELECT o.kind, o.their_id AS "theirId", o.account_id AS "accountId", o.user_id AS "userId", o.key_id AS "keyId",
      o.granted, o.off, acc.status, acc.deleted_at IS NOT NULL AS "isDeleted"
    FROM import_origins o JOIN accounts acc ON acc.id = o.account_id
    WHERE o.source = ? AND o.kind IN ('user', 'organisation', 'member', 'key') AND o.their_id = ANY (?)`,
    [source, [...asked.keys()]],
  )
  return new Map(rows.map(({ kind, theirId, ...origin }) => [nameOf(kind, asked.get(theirId)!), origin]))
}

/** How a thing there is named among all of its source. */
export const nameOf = (kind: OriginKind, theirId: string): string => `${kind} ${theirId}`

/** Notes what was imported. */
export async function noteOrigin(trx: Trx, source: string, origin: NewOrigin): Promise<void> {
  await trx('import_origins').insert({
    source,
    kind: origin.kind,
    their_id: origin.theirId,
    account_id: origin.accountId,
    user_id: origin.userId ?? null,
    key_id: origin.keyId ?? null,
    off: origin.off,
  })
}

/** Notes that credits were granted to an imported account. */
export async function noteGranted(trx: Trx, accountId: AccountId, credits: number): Promise<void> {
  await trx('import_origins')
    .where({ account_id: accountId })
    .whereIn('kind', ['user', 'organisation'])
    .increment('granted', credits)
}

/** Notes whether an account or a key is turned off there. */
export async function noteOff(trx: Trx, which: { account_id: AccountId; key_id: KeyId | null }, off: boolean) {
  await trx('import_origins').where(which).whereNot({ kind: 'member' }).update({ off })
}

/** The credits of all grants that a source was imported with: an exact number. */
export async function grantedOf(db: Db, source: string): Promise<bigint> {
  const { rows } = await db.raw<{ rows: { granted: string }[] }>(
    'SELECT coalesce(sum(granted), 0)::text AS granted FROM import_origins WHERE source = ?',
    [source],
  )
  return BigInt(rows[0]!.granted)
}

/** Where an account came from; its id there is null once it is deleted. */
export type ImportedFrom = { source: string; theirId: string | null }

/** Where an account was imported from; null if it was not. */
export async function importedFrom(db: Db | Trx, accountId: AccountId): Promise<ImportedFrom | null> {
  const row = await db('import_origins')
    .where({ account_id: accountId })
    .whereIn('kind', ['user', 'organisation'])
    .first<{ source: string; theirId: string } | undefined>('source', 'their_id as theirId')
  return row ? { ...row, theirId: row.theirId.startsWith('sha256:') ? null : row.theirId } : null
}

/** An imported account, and its imported keys and members. */
export const listOrigins = async (db: Db, accountId: AccountId): Promise<ListedOrigin[]> =>
  db('import_origins')
    .where({ account_id: accountId })
    .orderBy(['source', 'kind', 'their_id'])
    .select<ListedOrigin[]>('source', 'kind', 'their_id as theirId')

/** A thing that was imported, and what it is called there. */
export type ListedOrigin = { source: string; kind: OriginKind; theirId: string }

/**
 * Forgets what the things of an account, or a user with their memberships, are called elsewhere: they are still
 * recognised, and not imported again.
 */
export async function forgetOrigins(trx: Trx, of: { account_id: AccountId } | { user_id: UserId }): Promise<void> {
  await trx('import_origins')
    .where(of)
    .whereNot('their_id', 'like', 'sha256:%')
    .update({ their_id: trx.raw(`'sha256:' || encode(sha256(convert_to(their_id, 'UTF8')), 'hex')`) })
}

/** The imported keys of the accounts of a user, as a subquery of their ids. */
export const importedKeysOf = (trx: Trx, userId: UserId) =>
  trx('import_origins')
    .whereIn('account_id', trx('members').where({ user_id: userId }).select('account_id'))
    .whereNotNull('key_id')
    .select('key_id')

/** The gateways that keys were imported from. */
export async function gatewaysOfKeys(db: Db): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { gateway: string }[] }>(`
    SELECT DISTINCT s.gateway FROM import_sources s
    WHERE EXISTS (SELECT FROM import_origins o WHERE o.source = s.name AND o.kind = 'key')`)
  return rows.map(({ gateway }) => gateway)
}
