import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { buildConsole } from './console.ts'
import { filesIn, fingerprintOf, root } from '../folders.ts'
import { withLock } from '../services/lock.ts'
import { readIfThere } from '../services/secrets.ts'
import { runTool } from '../tools.ts'

const dist = join(root, 'dist')
const stamp = join(dist, '.built')

/** The sources of the build. A change in any of them makes it stale. */
const inputs = [
  'src',
  'sandbox',
  'migrations',
  'sql',
  'knexfile.ts',
  'tsconfig.json',
  'tsconfig.build.json',
  'package-lock.json',
]

/** One part of the build. Each writes into its own parts of dist, and removes what earlier builds left there. */
type BuildStep = { name: string; run: () => Promise<void> }

const steps: BuildStep[] = [
  { name: 'compile', run: compile },
  { name: 'sql', run: async () => shipSql(root) },
  { name: 'console', run: bundleConsole },
]

/** Thrown when the sources do not build. The message is the compiler's output. */
export class BuildError extends Error {}

/** The compiler overwrites file by file, so a program that starts meanwhile never finds dist empty. */
async function compile(): Promise<void> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  const flags = ['-p', 'tsconfig.build.json', '--noEmitOnError', '--listEmittedFiles', '--pretty', 'false']
  const { ok, output } = await runTool(process.execPath, [tsc, ...flags])
  if (!ok) throw new BuildError(output)
  const emitted = new Set<string>()
  for (const line of output.split('\n')) {
    if (line.startsWith('TSFILE: ')) emitted.add(resolve(root, line.slice('TSFILE: '.length).trim()))
  }
  for (const folder of ['src', 'sandbox', 'migrations']) {
    for (const file of filesIn(join(dist, folder))) {
      if (!emitted.has(file)) rmSync(file)
    }
  }
}

/** Copies the functions of `sql/` next to the compiled migrations, which apply them. */
export function shipSql(folder: string): void {
  const [from, to] = [join(folder, 'sql'), join(folder, 'dist', 'sql')]
  cpSync(from, to, { recursive: true })
  const there = new Set(readdirSync(from))
  for (const file of readdirSync(to)) if (!there.has(file)) rmSync(join(to, file))
}

async function bundleConsole(): Promise<void> {
  try {
    await buildConsole()
  } catch (error) {
    throw new BuildError(`The console does not build: ${(error as Error).message}`)
  }
}

const fingerprint = (): string => fingerprintOf(root, inputs)

/**
 * Whether dist is missing, or was built from other sources. They are compared by content, since git sets no
 * modification times.
 */
export function buildIsStale(): boolean {
  return readIfThere(stamp) !== fingerprint()
}

/** Builds dist, even if it is fresh. Throws a BuildError when the sources do not compile; dist is then unchanged. */
export async function build(): Promise<void> {
  await withLock(join(root, 'node_modules', '.tollgate-build.lock'), async () => {
    const built = fingerprint()
    for (const step of steps) await step.run()
    mkdirSync(dist, { recursive: true })
    writeFileSync(stamp, built)
  })
}
