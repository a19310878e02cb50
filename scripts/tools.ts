import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from './folders.ts'

/** How a tool ended, with everything that it wrote. */
export type ToolResult = { ok: boolean; output: string }

/** How a tool runs; without `cwd`, in the folder of this checkout. */
type Surroundings = { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number }

/** Runs a program to its end. One that cannot be run at all counts as failed. */
export async function runTool(
  program: string,
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<ToolResult> {
  const child = spawn(program, args, { cwd: root, ...surroundings, stdio: ['ignore', 'pipe', 'pipe'] })
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
