import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PLANTS } from '../../test/crash/panel/plants.ts'
import type { Plant } from '../../test/crash/panel/plants.ts'
import { root } from '../folders.ts'
import { runMocha } from './mocha.ts'
import type { Surroundings } from './mocha.ts'

/** What a copy of the tree is made of. */
const PARTS = ['src', 'migrations', 'test', 'scripts', 'assets', 'package.json', 'tsconfig.json', '.mocharc.json', 'knexfile.ts', 'models.json']

/** How many schedules a planted bug may live through. */
const SCHEDULES = 800

/** What became of a planted bug: found, or by which tests it was overlooked. */
export type Verdict = { plant: string; found: boolean; seconds: number; note: string }

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

async function judge(plant: Plant, surroundings: Surroundings): Promise<Verdict> {
  const startedAt = Date.now()
  const folder = copyTree()
  try {
    plantInto(folder, plant)
    const { counts, output } = await runMocha(plant.tests, {
      ...surroundings, folder, bail: true, env: { TOLLGATE_SCHEDULES: String(SCHEDULES) },
    })
    // A copy that does not even load proves nothing about the tests.
    const note = counts ? output.split('\n').find((line) => /^\s+1\) /.test(line))?.trim() ?? '' : output.slice(-500)
    return { plant: plant.name, found: (counts?.failed ?? 0) > 0, seconds: (Date.now() - startedAt) / 1000, note }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Plants each bug into a copy of the tree of its own and runs the tests that must find it, so many at a time. Tests that are
 * red without any bug would prove nothing: run them before.
 */
export async function runPanel(surroundings: Surroundings, atOnce: number, onVerdict: (verdict: Verdict) => void, only = ''): Promise<Verdict[]> {
  const waiting = PLANTS.filter(({ name }) => name.includes(only))
  const verdicts: Verdict[] = []
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let plant = waiting.shift(); plant; plant = waiting.shift()) {
      const verdict = await judge(plant, surroundings)
      verdicts.push(verdict)
      onVerdict(verdict)
    }
  }))
  return verdicts
}

/** Every test file that some planted bug relies on. */
export const panelTests = (): string[] => [...new Set(PLANTS.flatMap(({ tests }) => tests))]
