/**
 * The operator's command line: `npm run admin -- <command> [--json]`.
 */
import { parseArgs } from 'node:util'
import { ConfigError, EXIT_CONFIG, readDatabaseConfig } from '../shared/config.ts'
import { connectDb } from '../shared/infra/db.ts'
import { withoutSecrets } from '../shared/infra/log.ts'
import { accountCommands } from './commands/accounts.ts'
import { mailCommands } from './commands/mail.ts'
import { moneyCommands } from './commands/money.ts'
import type { Command, Options } from './command.ts'
import { CommandError } from './command.ts'

const COMMANDS: Command[] = [...accountCommands, ...moneyCommands, ...mailCommands]

const help = (): string =>
  [
    'Usage: npm run admin -- <command> [--json]',
    '',
    ...COMMANDS.map(({ usage, summary }) => `  ${usage}\n      ${summary}`),
  ].join('\n')

/** The words of a usage before its first argument: `credits grant`. */
const wordsOf = (command: Command): string[] => command.usage.split(' ').filter((word) => /^[a-z]+$/.test(word))

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
  if (values.help || positionals.length === 0) {
    console.log(help())
    return positionals.length === 0 && !values.help ? 1 : 0
  }
  const command = COMMANDS.find((one) => wordsOf(one).every((word, index) => positionals[index] === word))
  if (!command) throw new CommandError(`Unknown command "${positionals.slice(0, 2).join(' ')}". Try --help.`)
  const { json, help: _help, ...given } = values
  const options = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === true ? 'yes' : value]),
  ) as Options
  const stray = Object.keys(options).find((name) => !command.options?.includes(name) && !command.flags?.includes(name))
  if (stray) throw new CommandError(`"${wordsOf(command).join(' ')}" does not take the option --${stray}.`)
  const db = connectDb(readDatabaseConfig())
  try {
    const report = await command.run(db, positionals.slice(wordsOf(command).length), options)
    console.log(json ? JSON.stringify(report.json) : report.text)
    return report.failed ? 1 : 0
  } finally {
    await db.destroy()
  }
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
