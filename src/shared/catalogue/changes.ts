/**
 * Applying versions of the catalogue: checked whole, one after the other, and with a record of who did it.
 */
import type { Db } from '../infra/db.ts'
import type { UserId } from '../ids.ts'
import { recordAction } from '../operators/actions.ts'
import type { Change } from './diff.ts'
import { diffCatalogues } from './diff.ts'
import { BadCatalogue, faultsOf } from './faults.ts'
import type { Source, StoredVersion } from './versions.ts'
import { isLastFile, isSameContent, readVersion, storeVersion } from './versions.ts'

/** What to apply. `expect`: the version that must still be the current one, 0 for none; null if any may be. */
export type Application = {
  content: unknown
  source: Source
  operator: UserId | null
  note: string | null
  expect: number | null
}

/**
 * What became of it. `unchanged`: the current version says the same. `conflict`: another version was applied meanwhile;
 * `changes` are those between the expected one and the current one.
 */
export type Applied =
  | { is: 'applied'; version: number; changes: Change[] }
  | { is: 'unchanged'; version: number }
  | { is: 'conflict'; version: number; by: string; changes: Change[] }

/**
 * Applies a content as a new version.
 * @throws BadCatalogue with every fault; nothing is changed then
 */
export async function applyCatalogue(db: Db, application: Application): Promise<Applied> {
  const faults = faultsOf(application.content)
  if (faults.length > 0) throw new BadCatalogue(faults)
  for (;;) {
    const current = await readVersion(db, 'newest')
    if (application.expect !== null && application.expect !== (current?.version ?? 0)) {
      return conflictOf(db, application.expect, current)
    }
    // The content of a file is stored even so: what counts is whether the next file is another.
    if (current && application.source !== 'file' && isSameContent(current.content, application.content)) {
      return { is: 'unchanged', version: current.version }
    }
    const version = await store(db, current?.version ?? 0, application)
    if (version !== null) {
      return { is: 'applied', version, changes: diffCatalogues(current?.content, application.content) }
    }
  }
}

/** Stores the version and its record together; null if another was stored meanwhile. */
const store = (db: Db, current: number, application: Application): Promise<number | null> =>
  db.transaction(async (trx) => {
    const version = await storeVersion(trx, current, application)
    const { source, operator, note } = application
    if (version !== null && source !== 'file') {
      const action = source === 'rollback' ? 'catalogue_rolled_back' : 'catalogue_applied'
      await recordAction(trx, operator, action, null, { version, note })
    }
    return version
  })

async function conflictOf(db: Db, expected: number, current: StoredVersion | null): Promise<Applied> {
  const before = await readVersion(db, expected)
  return {
    is: 'conflict',
    version: current?.version ?? 0,
    by: current?.by ?? '',
    changes: diffCatalogues(before?.content, current?.content),
  }
}

/**
 * Applies the content of MODELS_FILE, unless the last version that came from a file says the same: what an operator
 * changed since then stands until the file changes.
 * @returns the new version; null if there is none
 * @throws BadCatalogue with every fault
 */
export async function applyFile(db: Db, content: unknown): Promise<number | null> {
  if (await isLastFile(db, content)) return null
  const applied = await applyCatalogue(db, { content, source: 'file', operator: null, note: null, expect: null })
  return applied.is === 'applied' ? applied.version : null
}

/** Who rolls back to which version, and why. `expect` as in an Application. */
export type Rollback = Pick<Application, 'operator' | 'note' | 'expect'> & { version: number }

/**
 * Applies the content of an earlier version again, as a new one.
 * @returns null if there is no such version
 * @throws BadCatalogue if this release no longer takes its content
 */
export async function rollBack(db: Db, { version, operator, note, expect }: Rollback): Promise<Applied | null> {
  const earlier = await readVersion(db, version)
  if (!earlier) return null
  const why = note ?? `Back to version ${version}.`
  return applyCatalogue(db, { content: earlier.content, source: 'rollback', operator, note: why, expect })
}
