import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Plant } from '../../test/crash/panel/plants.ts'
import { root } from '../folders.ts'
import type { TestAddresses } from '../services/test-services.ts'
import { runMocha } from './mocha.ts'

/** What a copy of the tree is made of. */
const PARTS = ['src', 'migrations', 'test', 'scripts', 'assets', 'package.json', 'tsconfig.json', '.mocharc.json', 'knexfile.ts', 'models.json']

/** How many schedules a planted bug may live through. */
const SCHEDULES = 800

/** What became of a planted bug: whether a test failed over it, and which; or why the copy did not even run. */
export type Verdict = { found: boolean; note: string }

function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-plant-'))
  for (const part of PARTS) cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, '.test-data'))
  return folder
}

function plantInto(folder: string, { name, edits }: Plant): void {
  for (const { file, find, replace } of edits) {
    const text = readFileSync(join(folder, file), 'utf8')
    if (text.split(find).length !== 2) throw new Error(`${name}: ${file} has changed; plant the bug anew`)
    writeFileSync(join(folder, file), text.replace(find, () => replace))
  }
}

/**
 * Plants a bug into a copy of the tree and runs the tests that must find it. They prove nothing unless they pass without it:
 * `npm test` runs them so.
 */
export async function judge(plant: Plant, addresses: TestAddresses): Promise<Verdict> {
  const folder = copyTree()
  try {
    plantInto(folder, plant)
    const { counts, output } = await runMocha(plant.tests, { ...addresses, folder, bail: true, env: { TOLLGATE_SCHEDULES: String(SCHEDULES) } })
    if (!counts) return { found: false, note: `its copy does not run: ${output.slice(-1000)}` }
    return { found: counts.failed > 0, note: output.split('\n').find((line) => /^\s+1\) /.test(line))?.trim() ?? '' }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
