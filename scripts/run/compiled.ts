import '../require-node.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { BuildError, build, buildIsStale } from '../build/builder.ts'
import { startPostgres } from '../services/postgres.ts'
import { dataFolder, enter, leave, runningIn, shown } from '../start/data-folder.ts'

/**
 * `npm run admin -- …` and `npm run sandbox -- …`: builds dist when it is stale and runs the compiled program,
 * with its arguments, input, output and exit code. Without a DATABASE_URL, the admin commands work on the database of
 * `npm start`: of the one that runs, or of one that is started for the command.
 */
const programs: Record<string, string> = { admin: 'dist/src/admin/main.js', sandbox: 'dist/sandbox/main.js' }
const [name = '', ...args] = process.argv.slice(2)
const program = programs[name]

async function run(path: string, more: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, [path, ...args], { stdio: 'inherit', env: { ...more, ...process.env } })
  // Ctrl-C reaches the program directly; this process only waits until it ends.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  const [code, killedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  return code ?? 128 + constants.signals[killedBy ?? 'SIGTERM']
}

async function withDatabase(work: (more: NodeJS.ProcessEnv) => Promise<number>): Promise<number> {
  if (process.env['DATABASE_URL']) return await work({})
  const folder = dataFolder()
  if (!existsSync(join(folder, 'postgres-password'))) {
    throw new Error('There is no database: set DATABASE_URL, or run npm start once.')
  }
  const holder = await enter(folder)
  if (holder !== undefined) {
    const environment = runningIn(folder)?.environment ?? {}
    if (environment['DATABASE_URL']) return await work(environment)
    throw new Error(`${shown(folder)} is in use by process ${holder.pid}, which is not ready yet: try again.`)
  }
  try {
    const postgres = await startPostgres({ folder })
    try {
      return await work({ DATABASE_URL: postgres.url })
    } finally {
      await postgres.stop()
    }
  } finally {
    leave(folder)
  }
}

try {
  if (program === undefined) throw new Error(`There is no "${name}", only ${Object.keys(programs).join(' and ')}.`)
  // Only the program itself writes to standard output, which other programs read.
  if (buildIsStale()) await build()
  process.exitCode = name === 'admin' ? await withDatabase((more) => run(program, more)) : await run(program, {})
} catch (error) {
  console.error(error instanceof BuildError ? `The build failed:\n${error.message}` : (error as Error).message)
  process.exitCode = 1
}
