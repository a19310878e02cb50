import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { root } from './folders.ts'

/** How a tool ended, with everything that it wrote. */
export type ToolResult = { ok: boolean; output: string }

/** How a tool runs; without `cwd`, in the folder of this checkout. `patient`: others on the machine go first. */
type Surroundings = { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number; patient?: boolean }

/** The priority of a process, from -20 to 19, that lets others go first. */
export const PATIENT = 5

/** Runs a program to its end. One that cannot be run at all counts as failed. */
export async function runTool(
  program: string,
  args: readonly string[],
  { patient = false, ...surroundings }: Surroundings = {},
): Promise<ToolResult> {
  const child = spawn(program, args, { cwd: root, ...surroundings, stdio: ['ignore', 'pipe', 'pipe'] })
  if (patient && child.pid !== undefined) setPriority(child.pid, PATIENT)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  child.on('error', (error) => {
    output += error.message
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { ok: code === 0, output: output.trim() }
}

/** A duration for people, for example 1.4 s. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
