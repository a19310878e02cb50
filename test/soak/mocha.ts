import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setPriority, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Ended } from '../../scripts/testing/closing-line.ts'
import { readIfThere } from '../../scripts/services/secrets.ts'
import { dyingWithParent } from '../../scripts/services/processes.ts'
import { PATIENT } from '../../scripts/tools.ts'
import type { TestAddresses } from '../../scripts/services/test-services.ts'

/**
 * Where tests run: their services, and the folder of the tree. `patient`: others on the machine go first.
 */
export type MochaEnvironment = TestAddresses & {
  folder: string
  bail?: boolean
  patient?: boolean
  env?: Record<string, string>
}

/** Room for young objects, in MB: with the default of 16, the schedules spend a twentieth more CPU on copying them. */
const YOUNG_MB = 64

/** How a run of mocha ended. `ended` is missing if it did not even load its files. */
export type Run = { ended: Ended | undefined; output: string }

/** Runs test files, or folders of them, of a tree in a process of its own. */
export async function runMocha(
  tests: readonly string[],
  { folder, bail = false, patient = false, env, databaseUrl, redisUrl }: MochaEnvironment,
): Promise<Run> {
  const place = mkdtempSync(join(tmpdir(), 'tollgate-soak-'))
  // mocha's own bin would start a second process, for the sake of an option of Node in .mocharc.json.
  const cli = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'lib', 'cli', 'cli.js')
  const [program = '', ...args] = dyingWithParent('SIGTERM', [
    process.execPath,
    `--max-semi-space-size=${YOUNG_MB}`,
    // mocha requires its files: the hooks for imports, with a thread of their own, would start for nothing.
    '--require=tsx/cjs',
    // Threads start with a script that they import.
    '--import=./scripts/thread-loader.mjs',
    cli,
    '--exit',
    '--forbid-only',
    // At full length and in the place of others, tests take longer than .mocharc.json allows them.
    '--timeout=400000',
    '--recursive',
    ...(bail ? ['--bail'] : []),
    ...tests,
  ])
  const child = spawn(program, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TOLLGATE_TEST_DATABASE_URL: databaseUrl,
      TOLLGATE_TEST_REDIS_URL: redisUrl,
      TOLLGATE_TEST_FOLDER: place,
      TOLLGATE_TEST_RESULT: join(place, 'result.json'),
      // What was compiled is read by the next run (from Node 22.1 on), but for what has changed.
      NODE_COMPILE_CACHE: join(folder, '.test-data', 'compiled'),
      ...env,
    },
  })
  if (patient && child.pid !== undefined) setPriority(child.pid, PATIENT)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  await once(child, 'close')
  const result = readIfThere(join(place, 'result.json'))
  rmSync(place, { recursive: true, force: true })
  return { ended: result === undefined ? undefined : (JSON.parse(result) as Ended), output }
}
