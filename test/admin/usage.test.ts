import { expect } from 'chai'
import { CommandError } from '../../src/admin/command.ts'
import type { Command } from '../../src/admin/command.ts'
import { helpFor, readCommandLine } from '../../src/admin/usage.ts'

const command = (usage: string, more: Partial<Command> = {}): Command => ({
  usage,
  summary: `What ${usage} does.`,
  run: () => Promise.resolve({ json: {}, text: '' }),
  ...more,
})

const COMMANDS = [
  command('audit'),
  command('account show <email>'),
  command('account role <email> admin|user'),
  command('credits grant <email> <amount> [--note …]', { options: ['note'] }),
  command('key create <email> [name]'),
  command('payment sync [id] [--from <ISO> --to <ISO>]', { options: ['from', 'to'] }),
  command('payment resolve <id> --grant | --dismiss', { flags: ['grant', 'dismiss'] }),
]

/** What is read of a command line: the usage of its command, its arguments and its options. */
function readingOf(line: string) {
  const typed = readCommandLine(COMMANDS, line.split(' ').filter(Boolean))
  if ('help' in typed) return typed
  const { command: found, args, options, json } = typed
  return { usage: found.usage, args, options: { ...options }, json }
}

function refusal(line: string): string {
  try {
    return `not refused: ${JSON.stringify(readingOf(line))}`
  } catch (error) {
    expect(error).to.be.instanceOf(CommandError)
    return (error as Error).message
  }
}

describe('a command line', () => {
  it('is read into its command, arguments and options', () => {
    expect(readingOf('credits grant a@b.example 5 --note thanks --json')).to.deep.equal({
      usage: 'credits grant <email> <amount> [--note …]',
      args: ['a@b.example', '5'],
      options: { note: 'thanks' },
      json: true,
    })
    expect(readingOf('payment resolve pay_1 --grant')).to.deep.include({ args: ['pay_1'], options: { grant: 'yes' } })
    expect(readingOf('payment sync --from 2030-01-01 --to 2030-02-01')).to.deep.include({ args: [] })
    expect(readingOf('key create a@b.example')).to.deep.include({ args: ['a@b.example'] })
  })

  it('lacks no argument that its usage requires, and has none that it does not name', () => {
    expect(refusal('credits grant a@b.example')).to.equal(
      '<amount> is missing. Usage: credits grant <email> <amount> [--note …]',
    )
    expect(refusal('account role a@b.example')).to.match(/^admin\|user is missing\. Usage: account role/)
    for (const line of ['audit x', 'payment sync pay_1 x', 'payment resolve pay_1 x --grant', 'account show a x'])
      expect(refusal(line), line).to.match(/^"x" is one argument too many\. Usage: /)
  })

  it('is refused with a sentence for options that nobody knows, or that lack a value or have one too many', () => {
    expect(refusal('audit --bogus')).to.equal('Unknown option --bogus. Try --help.')
    expect(refusal('credits grant a@b.example -5')).to.equal('Unknown option -5. Try --help.')
    expect(refusal('audit --note')).to.equal('--note needs a value.')
    expect(refusal('credits grant a@b.example 5 --note --json')).to.equal('--note needs a value.')
    expect(refusal('payment resolve pay_1 --grant=no')).to.equal('--grant takes no value.')
    expect(refusal('audit --note x')).to.equal('"audit" does not take the option --note.')
  })

  it('that names no command hears which there are', () => {
    expect(refusal('')).to.equal('No command was given. Try --help.')
    expect(refusal('nonsense')).to.equal('Unknown command "nonsense". Try --help.')
    expect(refusal('account')).to.equal('Unknown command "account". There are account show, account role. Try --help.')
  })

  it('asks for the help of all commands, or of those that it names', () => {
    for (const line of ['help', '--help']) expect(readingOf(line)).to.deep.equal({ help: [] })
    for (const line of ['help account', 'account --help']) expect(readingOf(line)).to.deep.equal({ help: ['account'] })
    const usages = (words: string[]) =>
      COMMANDS.filter(({ usage }) => helpFor(COMMANDS, words).includes(`  ${usage}\n`))
    expect(usages([])).to.deep.equal(COMMANDS)
    expect(usages(['account'])).to.deep.equal(COMMANDS.slice(1, 3))
    expect(usages(['nonsense'])).to.deep.equal(COMMANDS)
  })
})
