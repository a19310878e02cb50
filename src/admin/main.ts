/**
 * The operator's command line: `node dist/src/admin/main.js <command> [--json]`, in a checkout
 * `npm run admin -- <command> [--json]`.
 */
import { parseArgs } from 'node:util'
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
import type { Command, Options } from './command.ts'
import { CommandError } from './command.ts'

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

const help = (): string =>
  [
    'Usage: node dist/src/admin/main.js <command> [--json]',
    '       npm run admin -- <command> [--json]   (in a checkout)',
    '',
    ...COMMANDS.map(({ usage, summary }) => `  ${usage}\n      ${summary}`),
  ].join('\n')

/** The words of a usage before its first argument: `credits grant`. */
function wordsOf({ usage }: Command<object>): string[] {
  const words = usage.split(' ')
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
  return end < 0 ? words : words.slice(0, end)
}

/** How many arguments a command takes at the most: what its usage names beside its words and its options. */
const argumentsOf = (command: Command<object>): number =>
  command.usage
    .replace(/\[[^\]]*--[^\]]*\]/g, '')
    .replace(/--[a-z-]+( [A-Z<][^ ]*)?/g, '')
    .split(' ')
    .filter(Boolean).length - wordsOf(command).length

function parse(argv: string[]) {
  const typed = (type: 'string' | 'boolean', names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { type }]))
  const options = {
    ...typed(
      'string',
      COMMANDS.flatMap((command) => command.options ?? []),
    ),
    ...typed(
      'boolean',
      COMMANDS.flatMap((command) => command.flags ?? []),
    ),
    json: { type: 'boolean' as const },
    help: { type: 'boolean' as const },
  }
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true })
    return { values, positionals }
  } catch (error) {
    throw new CommandError((error as Error).message.split('\n')[0]!)
  }
}

async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parse(argv)
  if (values.help) {
    console.log(help())
    return 0
  }
  if (positionals.length === 0) throw new CommandError('No command was given. Try --help.')
  const command = COMMANDS.find((one) => wordsOf(one).every((word, index) => positionals[index] === word))
  if (!command) throw new CommandError(`Unknown command "${positionals.slice(0, 2).join(' ')}". Try --help.`)
  const { json, help: _help, ...given } = values
  const options = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === true ? 'yes' : value]),
  ) as Options
  const stray = Object.keys(options).find((name) => !command.options?.includes(name) && !command.flags?.includes(name))
  const words = wordsOf(command)
  if (stray) throw new CommandError(`"${words.join(' ')}" does not take the option --${stray}.`)
  const args = positionals.slice(words.length)
  const surplus = args.slice(argumentsOf(command))
  if (surplus.length > 0) {
    throw new CommandError(`"${surplus[0]}" is one argument too many. Usage: ${command.usage}`)
  }
  const db = connectDb(readDatabaseConfig())
  try {
    const report = await command.run(db, args, options)
    for await (const line of report.lines ?? []) console.log(JSON.stringify(line))
    if (!report.lines) console.log(json ? JSON.stringify(report.json) : report.text)
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
