import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fingerprintOf, root, testData } from '../folders.ts'
import { readIfThere } from '../services/secrets.ts'

/** The parts of a checkout that its tests run on. */
export const TREE = [
  'src',
  'sandbox',
  'migrations',
  'sql',
  'test',
  'scripts',
  'assets',
  'docs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.mocharc.json',
  'knexfile.ts',
  'models.json',
] as const

/** The fingerprint of what tests run on in a checkout: where it is the same, so are the results of tests. */
export const treeOf = (folder: string = root): string => fingerprintOf(folder, TREE)

const passed = join(testData, 'passed')

/** Records that `npm test` has passed on the tree of this fingerprint. */
export const recordPassed = (tree: string): void => writeFileSync(passed, tree)

/** Whether the tree of this fingerprint is the last one on which `npm test` has passed. */
export const hasPassed = (tree: string): boolean => readIfThere(passed) === tree

/** What `npm run check` reads, in addition to the tree. */
const CHECKED = ['bench', '.oxlintrc.json', '.oxfmtrc.json', '.dependency-cruiser.cjs'] as const

const checked = join(testData, 'checked')

/** Runs the checks unless they have passed on what they would read. @throws what they throw */
export async function checkOnce(check: () => Promise<void>): Promise<void> {
  const read = fingerprintOf(root, [...TREE, ...CHECKED])
  if (readIfThere(checked) === read) return
  await check()
  mkdirSync(testData, { recursive: true })
  writeFileSync(checked, read)
}
