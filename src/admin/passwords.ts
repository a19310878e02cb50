/**
 * Where the passwords of commands come from: a prompt, or the first line of standard input. An argument can be seen by
 * everyone who lists the processes, and stays in the shell's history.
 */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { CommandError } from './command.ts'

/** Warns of a password that came as an argument, once the command has done its work: a refusal is one sentence. */
export function warnOfArgument(argument: string | undefined): void {
  if (argument === undefined) return
  console.error('A password as an argument can be seen by others: leave it out, and it is asked for.')
}

/** The password of a command. @throws CommandError if it gets none. */
export async function passwordFrom(argument: string | undefined, asks: string): Promise<string> {
  if (argument !== undefined) return argument
  const { stdin } = process
  if (stdin.isTTY) process.stderr.write(`${asks}: `)
  // What is typed is not shown.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: silent, terminal: stdin.isTTY === true })
  try {
    for await (const line of lines) return line
    throw new CommandError('There is no password: neither was one typed nor did standard input have a line.')
  } finally {
    lines.close()
    stdin.unref?.()
    if (stdin.isTTY) process.stderr.write('\n')
  }
}
