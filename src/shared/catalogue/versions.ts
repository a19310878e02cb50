/** The versions of the catalogue in Postgres. They are append-only; the newest is the current one. */
import { createHash } from 'node:crypto'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { UserId } from '../platform/ids.ts'
import type { GroupLimits } from './groups.ts'

/** Where a version came from: MODELS_FILE by `migrate`, the command line, the console, or an earlier version. */
export const SOURCES = ['file', 'command', 'page', 'rollback'] as const
/** Where a version of the catalogue came from. */
export type Source = (typeof SOURCES)[number]

/** The longest note, in characters. */
export const MAX_NOTE = 500

/** A version as operators see it. `by`: the operator's address of now, `MODELS_FILE` or `command line`. */
export type VersionRecord = {
  version: number
  /** ISO 8601. */
  appliedAt: string
  by: string
  note: string | null
  source: Source
}

/** A version with its content as it was given, which need not be what this release takes. */
export type StoredVersion = VersionRecord & { content: unknown }

/** A version to be stored. `operator`: null for a file and the command line. */
export type NewVersion = { content: unknown; source: Source; operator: UserId | null; note: string | null }

type Row = {
  version: number
  applied_at: Date
  email: string | null
  note: string | null
  source: Source
  operator_id: UserId | null
}

const record = ({ version, applied_at, email, note, source, operator_id }: Row): VersionRecord => ({
  version,
  appliedAt: applied_at.toISOString(),
  by: operator_id === null ? (source === 'file' ? 'MODELS_FILE' : 'command line') : (email ?? operator_id),
  note,
  source,
})

const RECORD = `v.version, v.applied_at, operator.email, v.note, v.source, v.operator_id
  FROM catalogue_versions v LEFT JOIN users operator ON operator.id = v.operator_id`

/**
 * Stores the version after `current` (0 before there is one).
 * @returns its number; null if another was stored meanwhile, which changes nothing.
 */
export async function storeVersion(db: Db, current: number, version: NewVersion): Promise<number | null> {
  const { content, source, operator, note } = version
  const { rows } = await db.raw<{ rows: { version: number }[] }>(
    `INSERT INTO catalogue_versions (version, content, hash, source, operator_id, note)
    SELECT :current::integer + 1, :content::json, :hash::bytea, :source, :operator::uuid, :note::text
    WHERE :current::integer = (SELECT coalesce(max(version), 0) FROM catalogue_versions)
    ON CONFLICT (version) DO NOTHING RETURNING version`,
    { current, content: JSON.stringify(content), hash: hashOf(content), source, operator, note },
  )
  return rows[0]?.version ?? null
}

/** A version with its content: the newest unless one is named; null if there is none. */
export const readVersion = (db: Db, version: number | 'newest'): Promise<StoredVersion | null> =>
  version === 'newest' ? newestAfter(db, 0) : newestWhere(db, 'v.version = ?', version)

/** The newest version after `known`, if there is one: what a process that uses `known` has to take. */
export const newestAfter = (db: Db, known: number): Promise<StoredVersion | null> =>
  newestWhere(db, 'v.version > ?', known)

async function newestWhere(db: Db, condition: string, version: number): Promise<StoredVersion | null> {
  const { rows } = await db.raw<{ rows: (Row & { content: unknown })[] }>(
    `SELECT v.content, ${RECORD} WHERE ${condition} ORDER BY v.version DESC LIMIT 1`,
    [version],
  )
  return rows[0] ? { ...record(rows[0]), content: rows[0].content } : null
}

/** The groups of the newest version, by their names, as they were given; empty if there is no version. */
export const newestGroups = async (db: Db | Trx): Promise<Record<string, GroupLimits>> =>
  (await newest<Record<string, GroupLimits> | null>(db, "content -> 'groups'")) ?? {}

/**
 * Keeps the newest version the newest until the transaction ends: one that is stored meanwhile waits for the row that
 * it follows.
 */
export async function holdNewest(trx: Trx): Promise<void> {
  for (;;) {
    const held = await newest<number>(trx, 'version', 'FOR UPDATE')
    // While the lock was waited for, a version may have been stored after it.
    if (held === (await newest<number>(trx, 'version'))) return
  }
}

/** An expression over the newest version; null if there is no version. */
async function newest<T>(db: Db | Trx, expression: string, lock: 'FOR UPDATE' | '' = ''): Promise<T | null> {
  const { rows } = await db.raw<{ rows: { value: T }[] }>(
    `SELECT ${expression} AS value FROM catalogue_versions ORDER BY version DESC LIMIT 1 ${lock}`,
  )
  return rows[0]?.value ?? null
}

/** What a credit is worth by the newest version, in micro-dollars; null if it does not state it, or does not exist. */
export const creditWorth = (db: Db): Promise<number | null> => newest(db, "(content ->> 'creditMicroUsd')::bigint")

/** Versions without their content, newest first. @param before lists those older than it */
export async function listVersions(db: Db, limit: number, before?: number): Promise<VersionRecord[]> {
  const { rows } = await db.raw<{ rows: Row[] }>(
    `SELECT ${RECORD} WHERE v.version < ? ORDER BY v.version DESC LIMIT ?`,
    [before ?? 2 ** 31 - 1, limit],
  )
  return rows.map(record)
}

/** Whether the last version that came from a file has this content. */
export async function isLastFile(db: Db, content: unknown): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { hash: Buffer }[] }>(
    `SELECT hash FROM catalogue_versions WHERE source = 'file' ORDER BY version DESC LIMIT 1`,
  )
  return rows[0] !== undefined && rows[0].hash.equals(hashOf(content))
}

/** Whether two contents are the same: the order of keys and the layout of the text do not count. */
export const isSameContent = (one: unknown, other: unknown): boolean => hashOf(one).equals(hashOf(other))

const hashOf = (content: unknown): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(ordered(content)))
    .digest()

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => [key, ordered(one)])
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
