/** How commands are called: their words, arguments and options, by their usages. */
import { parseArgs } from 'node:util'
import type { Command, Options } from './command.ts'
import { CommandError } from './command.ts'

type AnyCommand = Command<object>

/** What was typed: the command that was found, its arguments and its options. */
export type Typed = { command: AnyCommand; args: string[]; options: Options; json: boolean }

/** The words of a usage before its first argument: `credits grant`. */
function wordsOf({ usage }: AnyCommand): string[] {
  const words = usage.split(' ')
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
  return end < 0 ? words : words.slice(0, end)
}

/** The arguments that a usage names in addition to its words and its options; in brackets if they are optional. */
const argumentsOf = (command: AnyCommand): string[] =>
  command.usage
    .replace(/\[[^\]]*--[^\]]*\]/g, '')
    .replace(/--[a-z-]+( [A-Z<][^ ]*)?/g, '')
    .split(' ')
    .filter((word) => word !== '' && word !== '|')
    .slice(wordsOf(command).length)

/** The help: of the commands that begin with these words, or of all. */
export function helpFor(commands: readonly AnyCommand[], words: readonly string[]): string {
  const named = commands.filter((one) => words.every((word, at) => wordsOf(one)[at] === word))
  return [
    'Usage: node dist/src/admin/main.js <command> [--json]',
    '       npm run admin -- <command> [--json]   (in a checkout)',
    '',
    ...(named.length > 0 ? named : commands).map(({ usage, summary }) => `  ${usage}\n      ${summary}`),
  ].join('\n')
}

/**
 * Reads a command line.
 * @returns what to run, or the words that help is asked for. @throws CommandError with a sentence about what is wrong.
 */
export function readCommandLine(commands: readonly AnyCommand[], argv: string[]): Typed | { help: string[] } {
  const { values, positionals } = parse(commands, argv)
  const { json, help, ...given } = values
  if (help === true || positionals[0] === 'help') return { help: positionals.filter((word) => word !== 'help') }
  const command = commandOf(commands, positionals)
  const options = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === true ? 'yes' : value]),
  ) as Options
  const words = wordsOf(command)
  const stray = Object.keys(options).find((name) => !command.options?.includes(name) && !command.flags?.includes(name))
  if (stray) throw new CommandError(`"${words.join(' ')}" does not take the option --${stray}.`)
  const args = positionals.slice(words.length)
  checkArguments(command, args)
  return { command, args, options, json: json === true }
}

function commandOf(commands: readonly AnyCommand[], typed: readonly string[]): AnyCommand {
  if (typed.length === 0) throw new CommandError('No command was given. Try --help.')
  const command = commands.find((one) => wordsOf(one).every((word, at) => typed[at] === word))
  if (command) return command
  const related = commands.map(wordsOf).filter(([first]) => first === typed[0])
  const hint = related.length > 0 ? `There are ${related.map((words) => words.join(' ')).join(', ')}. ` : ''
  throw new CommandError(`Unknown command "${typed.slice(0, 2).join(' ')}". ${hint}Try --help.`)
}

function checkArguments(command: AnyCommand, args: readonly string[]): void {
  const known = argumentsOf(command)
  const missing = known.find((name, at) => !name.startsWith('[') && args[at] === undefined)
  if (missing !== undefined) throw new CommandError(`${missing} is missing. Usage: ${command.usage}`)
  const surplus = args[known.length]
  if (surplus !== undefined) {
    throw new CommandError(`"${surplus}" is one argument too many. Usage: ${command.usage}`)
  }
}

function parse(commands: readonly AnyCommand[], args: string[]) {
  const typed = (type: 'string' | 'boolean', names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { type }]))
  const options = {
    ...typed(
      'string',
      commands.flatMap((command) => command.options ?? []),
    ),
    ...typed(
      'boolean',
      commands.flatMap((command) => command.flags ?? []),
    ),
    json: { type: 'boolean' as const },
    help: { type: 'boolean' as const },
  }
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw sentenceAbout(error as Error & { code?: string })
  }
}

/** What `parseArgs` throws, which names the option in single quotes, in a sentence of ours. */
function sentenceAbout({ code, message }: Error & { code?: string }): CommandError {
  const option = /'(-[^' ]*)/.exec(message)?.[1] ?? 'it'
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return new CommandError(`Unknown option ${option}. Try --help.`)
  return new CommandError(/does not take/.test(message) ? `${option} takes no value.` : `${option} needs a value.`)
}
