/**
 * The operator's command line: `node dist/src/admin/main.js <command> [--json]`, in a checkout
 * `npm run admin -- <command> [--json]`.
 */
import { ConfigError, EXIT_CONFIG, readDatabaseConfig } from '../shared/platform/config/config.ts'
import { missingSchema } from '../../migrations/index.ts'
import { connectDb, isNotMigrated } from '../shared/platform/postgres/db.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { sentenceOf, withoutSecrets } from '../shared/platform/process/log.ts'
import { unavailableOf, checkPostgres, within } from '../shared/platform/process/start-up.ts'
import { CommandError } from './command.ts'
import { COMMANDS } from './commands.ts'
import { helpFor, readCommandLine } from './usage.ts'

/** How long a command waits until its connections are closed, in ms. */
const CLOSE_MS = 2000

async function main(argv: string[]): Promise<number> {
  const typed = readCommandLine(COMMANDS, argv)
  if ('help' in typed) {
    console.log(helpFor(COMMANDS, typed.help))
    return 0
  }
  const { command, args, options, json } = typed
  const db = connectDb(readDatabaseConfig(), { reading: true, silenceMs: 0 })
  try {
    const report = await command.run(db, args, options)
    for await (const line of report.lines ?? []) console.log(JSON.stringify(line))
    if (!report.lines) console.log(json ? JSON.stringify(report.json) : report.text)
    for (const warning of report.warnings ?? []) console.error(warning)
    if (report.complaint === undefined) return 0
    console.error(report.complaint)
    return 1
  } catch (error) {
    throw await explained(db, error)
  } finally {
    // A silent Postgres does not close its connections either.
    await within(CLOSE_MS, () => db.destroy()).catch(() => {})
  }
}

/**
 * The sentence for an operator instead of a failure: that Postgres is unreachable, or cannot be used, or is not
 * migrated.
 */
async function explained(db: Db, error: unknown): Promise<unknown> {
  if (error instanceof CommandError || error instanceof ConfigError) return error
  const unavailable = unavailableOf(error)
  if (unavailable !== null) return new CommandError(`${unavailable.message}: ${sentenceOf(unavailable.cause)}.`)
  if (isNotMigrated(error)) {
    const [missing] = await missingSchema(db)
    if (missing === undefined) return error
    return new CommandError(`The database has not been migrated (${missing} is missing): run the release phase first.`)
  }
  return checkPostgres(db).then(
    () => error,
    (refusal: unknown) => refusal,
  )
}

// Its reader has what it wanted (`… | head`): nobody reads an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

/** Prints what ended a command, without secrets; returns its exit code. */
function fail(error: unknown): number {
  console.error(
    error instanceof CommandError || error instanceof ConfigError
      ? error.message
      : withoutSecrets(String((error as Error).message)),
  )
  return error instanceof ConfigError ? EXIT_CONFIG : 1
}

// An unhandled error ends a command too: do not trust what it would print then.
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (defect: unknown) => process.exit(fail(defect)))
}

const code = await main(process.argv.slice(2)).catch(fail)
// A connection that does not answer would keep the process alive. The output is written first.
for (const stream of [process.stdout, process.stderr]) await new Promise((resolve) => stream.write('', resolve))
process.exit(code)
