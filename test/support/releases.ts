/**
 * Two releases that follow each other, for tests that go from one to the other and back.
 */
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildIsStale } from '../../scripts/build/builder.ts'
import { root } from '../../scripts/folders.ts'
import { copyTree, editTree } from './tree-copy.ts'
import { RELEASE } from '../../src/shared/platform/process/release.ts'

/** The folders of both. `made`: the newer one is made here, with the migration `LATER`. */
export type ReleasePair = { older: string; newer: string; made: boolean; remove: () => void }

/** The migration that a made release has more than this one. */
export const LATER = '999_next_release'

const MIGRATION = `
export const concurrently = {
  next_release: 'CREATE INDEX CONCURRENTLY IF NOT EXISTS next_release ON usage_hours (model, hour)',
}
export const up = (db) => db.raw('ALTER TABLE calls ADD COLUMN next_release integer NOT NULL DEFAULT 0')
export const down = (db) => db.raw('ALTER TABLE calls DROP COLUMN next_release')
`

/**
 * This checkout and the release after it, which is made: a later version, one more migration, and another text of every
 * function. With TOLLGATE_RELEASE_BEFORE, the folder of a built clone, it is that clone and this checkout.
 */
export function releasePair(): ReleasePair {
  const before = process.env['TOLLGATE_RELEASE_BEFORE']
  if (before) return { older: before, newer: root, made: false, remove: () => {} }
  const isCompiled = !buildIsStale()
  const copy = copyTree(
    isCompiled ? ['dist', 'assets', 'package.json'] : ['src', 'migrations', 'sql', 'assets', 'package.json'],
  )
  const [base, ending] = isCompiled ? ['dist/', 'js'] : ['', 'ts']
  writeFileSync(join(copy.folder, `${base}migrations/${LATER}.${ending}`), MIGRATION)
  editTree(copy, 'the next release', [
    {
      file: `${base}migrations/index.${ending}`,
      find: 'export const migrationSource',
      replace: `import * as nextRelease from './${LATER}.${ending}'
        Object.assign(MIGRATIONS, { '${LATER}': nextRelease })
        export const migrationSource`,
    },
    { file: 'package.json', find: `"version": "${RELEASE}"`, replace: '"version": "99.0.0"' },
  ])
  const functions = join(copy.folder, base, 'sql')
  for (const file of readdirSync(functions)) appendFileSync(join(functions, file), '\n-- As the next release has it.\n')
  return { older: root, newer: copy.folder, made: true, remove: copy.remove }
}
