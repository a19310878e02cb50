/**
 * The operator's command line: `node dist/src/admin/main.js <command> [--json]`, in a checkout
 * `npm run admin -- <command> [--json]`.
 */
import { ConfigError, EXIT_CONFIG, readDatabaseConfig } from '../shared/config.ts'
import { missingSchema } from '../../migrations/index.ts'
import { connectDb, isNotMigrated } from '../shared/infra/db.ts'
import type { Db } from '../shared/infra/db.ts'
import { sentenceOf, withoutSecrets } from '../shared/infra/log.ts'
import { awayOf, lookAtPostgres } from '../shared/infra/start-up.ts'
import { accountCommands } from './commands/accounts.ts'
import { catalogueCommands } from './commands/catalogue.ts'
import { doctorCommands } from './commands/doctor.ts'
import { leavingCommands } from './commands/leaving.ts'
import { bannerCommands } from './commands/banner.ts'
import { codeCommands } from './commands/codes.ts'
import { paymentCommands } from './commands/payments.ts'
import { mailCommands } from './commands/mail.ts'
import { keyCommands } from './commands/keys.ts'
import { moneyCommands } from './commands/money.ts'
import { reportCommands } from './commands/reports.ts'
import type { Command } from './command.ts'
import { CommandError } from './command.ts'
import { helpFor, readCommandLine } from './usage.ts'

const COMMANDS: Command<object>[] = [
  ...accountCommands,
  ...leavingCommands,
  ...moneyCommands,
  ...reportCommands,
  ...keyCommands,
  ...catalogueCommands,
  ...paymentCommands,
  ...codeCommands,
  ...mailCommands,
  ...bannerCommands,
  ...doctorCommands,
]

async function main(argv: string[]): Promise<number> {
  const typed = readCommandLine(COMMANDS, argv)
  if ('help' in typed) {
    console.log(helpFor(COMMANDS, typed.help))
    return 0
  }
  const { command, args, options, json } = typed
  const db = connectDb(readDatabaseConfig())
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
    await db.destroy()
  }
}

/** What an operator must hear instead of a failure: that Postgres is away, or cannot be used, or is not migrated. */
async function explained(db: Db, error: unknown): Promise<unknown> {
  if (error instanceof CommandError || error instanceof ConfigError) return error
  const away = awayOf(error)
  if (away !== null) return new CommandError(`${away.message}: ${sentenceOf(away.cause)}.`)
  if (isNotMigrated(error)) {
    const [missing] = await missingSchema(db)
    if (missing === undefined) return error
    return new CommandError(`The database has not been migrated (${missing} is missing): run the release phase first.`)
  }
  return lookAtPostgres(db).then(
    () => error,
    (refusal: unknown) => refusal,
  )
}

// Its reader has what it wanted (`… | head`): there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(
    error instanceof CommandError || error instanceof ConfigError
      ? error.message
      : withoutSecrets((error as Error).message),
  )
  process.exitCode = error instanceof ConfigError ? EXIT_CONFIG : 1
}
