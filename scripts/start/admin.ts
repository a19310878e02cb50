import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from '../folders.ts'

/** Thrown when an admin command ended with another exit code than 0. The message is its output. */
export class AdminError extends Error {}

/** Runs a compiled program to its end and returns its standard output. Throws an AdminError when it fails. */
export async function runToEnd(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0)
    throw new AdminError(errors.trim() || output.trim() || `${args.join(' ')} ended with exit code ${code}`)
  return output.trim()
}

/** Runs an admin command and returns the object that it prints. Throws an AdminError when it fails. */
export async function admin<T>(env: NodeJS.ProcessEnv, ...command: readonly string[]): Promise<T> {
  return JSON.parse(await runToEnd(['dist/src/admin/main.js', ...command, '--json'], env)) as T
}
