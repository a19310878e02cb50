/** Applying versions of the catalogue: checked whole, one after the other, and with a record of who did it. */
import { keysOfTasks } from '../calls/tries.ts'
import { DEFAULT_KEY } from '../catalogue/catalogue.ts'
import { groupsBeyond } from '../identity/account-limits.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { UserId } from '../platform/ids.ts'
import { recordAction } from '../action-log/actions.ts'
import type { Change } from '../catalogue/diff.ts'
import { changesUpstreams, diffCatalogues, diffText } from '../catalogue/diff.ts'
import type { Fault } from '../catalogue/faults.ts'
import { BadCatalogue, faultsOf } from '../catalogue/faults.ts'
import { withoutMasks } from '../catalogue/header-masks.ts'
import type { Source, StoredVersion } from '../catalogue/versions.ts'
import { isLastFile, isSameContent, readVersion, storeVersion } from '../catalogue/versions.ts'

/**
 * What to apply. `expect`: the version that must still be the current one, 0 for none; null if any may be.
 * `confirmUpstreams` is awaited before new or changed upstreams are applied, which get keys and prompts; what it throws
 * keeps the catalogue as it is.
 */
export type Application = {
  content: unknown
  source: Source
  operator: UserId | null
  note: string | null
  expect: number | null
  confirmUpstreams?: () => Promise<void>
  /** Also removes keys that open tasks need: these fail then. */
  force?: boolean | undefined
}

/**
 * What became of it. `unchanged`: the current version has the same content. `conflict`: another version was applied
 * meanwhile; `changes` are those between the expected one and the current one.
 */
export type Applied =
  | { is: 'applied'; version: number; changes: Change[] }
  | { is: 'unchanged'; version: number }
  | { is: 'conflict'; version: number; by: string; changes: Change[] }

/**
 * A content as it would be applied after `former`: with the values that its masks replace, and with every fault.
 * A file has no masks: its content must not depend on the current version.
 */
export function judgeCatalogue(content: unknown, former: unknown): { content: unknown; faults: Fault[] } {
  const unmasked = withoutMasks(content, former)
  return { content: unmasked.content, faults: [...faultsOf(unmasked.content), ...unmasked.faults] }
}

/** Applies a content as a new version. @throws BadCatalogue with every fault; nothing is changed then */
export async function applyCatalogue(db: Db, application: Application): Promise<Applied> {
  for (;;) {
    const current = await readVersion(db, 'newest')
    if (application.expect !== null && application.expect !== (current?.version ?? 0)) {
      return conflictOf(db, application.expect, current)
    }
    // After that: the value of a mask is in the version that was seen.
    const former = application.source === 'file' ? undefined : current?.content
    const { content, faults } = judgeCatalogue(application.content, former)
    if (faults.length > 0) throw new BadCatalogue(faults)
    // The content of a file is stored even so: what counts is whether the next file is another.
    if (current && application.source !== 'file' && isSameContent(current.content, content)) {
      return { is: 'unchanged', version: current.version }
    }
    const changes = diffCatalogues(current?.content, content)
    if (changesUpstreams(changes)) await application.confirmUpstreams?.()
    const version = await store(db, current?.version ?? 0, { ...application, content }, changes)
    if (version !== null) return { is: 'applied', version, changes }
  }
}

/** Stores the version and its record together; null if another was stored meanwhile. */
const store = (db: Db, current: number, application: Application, changes: readonly Change[]): Promise<number | null> =>
  db.transaction(async (trx) => {
    const version = await storeVersion(trx, current, application)
    // After the version: putting an account into a group locks the version before it.
    const lost =
      version === null
        ? []
        : [
            ...(await lostGroups(trx, application.content)),
            ...(application.force ? [] : await neededKeys(trx, application.content)),
          ]
    if (lost.length > 0) throw new BadCatalogue(lost)
    const { source, operator, note } = application
    if (version !== null && source !== 'file') {
      const action = source === 'rollback' ? 'catalogue_rolled_back' : 'catalogue_applied'
      await recordAction(trx, operator, action, null, { version, note, changes: recorded(changes) })
    }
    return version
  })

/** The groups that accounts are in, and that a valid content does not have: their prices and limits would be lost. */
export async function lostGroups(db: Db | Trx, content: unknown): Promise<Fault[]> {
  const { groups = {} } = content as { groups?: object }
  return (await groupsBeyond(db, Object.keys(groups))).map(({ name, accounts }) => ({
    path: `groups.${name}`,
    message:
      `is missing, and ${accounts === 1 ? '1 account is' : `${accounts} accounts are`} in it: ` +
      'move them first (admin account group)',
  }))
}

/** The keys that open tasks were made with, and that a valid content does not have: only they can fetch the results. */
export async function neededKeys(db: Db | Trx, content: unknown): Promise<Fault[]> {
  const { upstreams } = content as { upstreams: Record<string, { keys?: { name: string }[] }> }
  return (await keysOfTasks(db)).flatMap(({ upstream, key, tasks }) => {
    const names = upstreams[upstream]?.keys?.map(({ name }) => name) ?? (upstreams[upstream] ? [DEFAULT_KEY] : [])
    if (names.includes(key)) return []
    const counted = tasks === 1 ? '1 open task needs' : `${tasks} open tasks need`
    return [{ path: `upstreams.${upstream}.keys`, message: `${counted} the key "${key}": wait, or apply with --force` }]
  })
}

/** How much of the changes an action keeps, in characters: the versions themselves keep all. */
const MAX_RECORDED = 10_000

function recorded(changes: readonly Change[]): string {
  const text = diffText(changes)
  return text.length <= MAX_RECORDED ? text : `${text.slice(0, MAX_RECORDED).toWellFormed()}…`
}

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
 * Applies the content of MODELS_FILE, unless the last version that came from a file has the same content: what an
 * operator changed since then stays until the file changes.
 * @returns the new version; null if there is none
 * @throws BadCatalogue with every fault
 */
export async function applyFile(db: Db, content: unknown): Promise<number | null> {
  if (await isLastFile(db, content)) return null
  // A deployment does not wait for tasks: they are served by the version that they were opened at.
  const guards = { operator: null, note: null, expect: null, force: true } as const
  const applied = await applyCatalogue(db, { content, source: 'file', ...guards })
  return applied.is === 'applied' ? applied.version : null
}

/** Who rolls back to which version, and why. The rest as in an Application. */
export type Rollback = Omit<Application, 'content' | 'source'> & { version: number }

/**
 * Applies the content of an earlier version again, as a new one.
 * @returns null if there is no such version
 * @throws BadCatalogue if this release no longer takes its content
 */
export async function rollBack(db: Db, { version, note, ...rest }: Rollback): Promise<Applied | null> {
  const earlier = await readVersion(db, version)
  if (!earlier) return null
  const why = note ?? `Back to version ${version}.`
  return applyCatalogue(db, { ...rest, content: earlier.content, source: 'rollback', note: why })
}
