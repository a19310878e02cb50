/**
 * `sql/`: the current text of every function and trigger of the money, one file each, named after its function. A file
 * is applied when its content is not what was applied last, unless a later release did that. A function is never
 * removed by a newer release: processes of the release before still call it. A function whose parameters or result
 * change gets a new name.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'
import { RELEASE, isLater } from '../src/shared/platform/process/release.ts'
import { changedTriggers, lockFor, replacementOf, splitTriggers } from './triggers.ts'

/** Next to this folder, both in the sources and in `dist`. */
export const SQL_FOLDER = fileURLToPath(new URL('../sql/', import.meta.url))

/** A file of the folder. `name`: of its function. */
type SqlFile = { name: string; text: string; hash: string }

/** A file whose function is not in the database as it is here. `appliedBy`: the release whose function is there. */
type StaleSql = SqlFile & { appliedBy: string | null }

/** The files of a folder, by name. */
function read(folder: string): SqlFile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => {
      const text = readFileSync(join(folder, file), 'utf8')
      return { name: file.slice(0, -'.sql'.length), text, hash: createHash('sha256').update(text).digest('hex') }
    })
}

/** The files that are not in the database as they are here; of a later release's functions none counts as stale. */
export async function staleSql(db: Knex, folder: string = SQL_FOLDER): Promise<StaleSql[]> {
  const rows = await db('applied_sql').select<{ name: string; hash: string; release: string }[]>(
    'name',
    'hash',
    'release',
  )
  const applied = new Map(rows.map((row) => [row.name, row]))
  return read(folder).flatMap((file): StaleSql[] => {
    const existing = applied.get(file.name)
    if (existing && (existing.hash === file.hash || isLater(existing.release, RELEASE))) return []
    return [{ ...file, appliedBy: existing?.release ?? null }]
  })
}

/**
 * Applies what has changed, in the caller's transaction: all of it or nothing.
 * @returns the functions that were applied, by name.
 * @throws where a file does not define exactly the one function that it is named after, or defines it with other
 * parameters or another answer than the function that the database has under this name.
 */
export async function applySql(trx: Knex.Transaction, folder: string = SQL_FOLDER): Promise<string[]> {
  const changed = await staleSql(trx, folder)
  if (changed.length === 0) return []
  // A function may be written before one that it calls.
  await trx.raw('SET LOCAL check_function_bodies = off')
  const before = await signaturesOf(trx, changed)
  for (const { name, text, hash } of changed) {
    await apply(trx, [name], splitTriggers(text).rest)
    await trx('applied_sql')
      .insert({ name, hash, release: RELEASE })
      .onConflict('name')
      .merge({ hash, release: RELEASE, applied_at: trx.fn.now() })
  }
  const after = await signaturesOf(trx, changed)
  for (const { name } of changed) expectOne(name, before.get(name), after.get(name))
  await applyTriggers(trx, changed)
  return changed.map(({ name }) => name)
}

// Postgres' errors for a function under the name of another one: ambiguous, or with another result.
const OTHER_FUNCTION = new Set(['42725', '42P13'])

/** Makes the triggers that are missing or have changed. Last, so that their tables are locked briefly. */
async function applyTriggers(trx: Knex.Transaction, files: SqlFile[]): Promise<void> {
  const all = files.flatMap(({ name: file, text }) =>
    splitTriggers(text).triggers.map((trigger) => ({ ...trigger, file })),
  )
  const changed = await changedTriggers(trx, all)
  if (changed.length === 0) return
  const names = [...new Set(changed.map(({ file }) => file))]
  await apply(trx, names, [lockFor(changed), ...changed.map(replacementOf)].join(';\n'))
}

/** Runs statements of files, which the error names. */
async function apply(trx: Knex.Transaction, names: string[], text: string): Promise<void> {
  try {
    await trx.raw(text.replaceAll('?', String.raw`\?`))
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code !== undefined && OTHER_FUNCTION.has(code)) throw needsNewName(names.join(', '))
    // Knex puts the whole text before Postgres' message. Its code stays: some mean that it is tried again.
    const files = names.map((name) => `sql/${name}.sql`).join(', ')
    const quoted = new Error(`${files}: ${message.slice(message.lastIndexOf(' - ') + 3)}`, { cause: error })
    throw Object.assign(quoted, { code })
  }
}

const needsNewName = (name: string): Error =>
  new Error(
    `sql/${name}.sql changes what ${name} takes or answers: give the function a new name, ` +
      'since processes of the release before call this one.',
  )

function expectOne(name: string, before: string[] | undefined, after: string[] | undefined): void {
  if (after === undefined) throw new Error(`sql/${name}.sql does not define a function ${name}.`)
  if (after.length !== 1 || (before !== undefined && before[0] !== after[0])) throw needsNewName(name)
}

/** Function → what it takes and answers, once for each function of that name. */
async function signaturesOf(trx: Knex.Transaction, files: SqlFile[]): Promise<Map<string, string[]>> {
  const { rows } = await trx.raw<{ rows: { name: string; signature: string }[] }>(
    `
    SELECT proname AS name,
      format('(%s) RETURNS %s', pg_get_function_arguments(oid), pg_get_function_result(oid)) AS signature
    FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY (?) ORDER BY 1, 2`,
    [files.map(({ name }) => name)],
  )
  const signatures = new Map<string, string[]>()
  for (const { name, signature } of rows) signatures.set(name, [...(signatures.get(name) ?? []), signature])
  return signatures
}

/** Takes every function of every release out, and the triggers with them, so that a migration can lead back. */
export async function dropSql(db: Knex): Promise<void> {
  const { rows } = await db.raw<{ rows: { signature: string }[] }>(`
    SELECT oid::regprocedure::text AS signature FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND proname IN (SELECT name FROM applied_sql)`)
  for (const { signature } of rows) await db.raw(`DROP FUNCTION ${signature} CASCADE`)
  await db('applied_sql').delete()
}
