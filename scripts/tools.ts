import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { root } from './folders.ts'

/** How a tool ended, with everything that it wrote. */
export type ToolResult = { ok: boolean; output: string }

/** Runs a program to its end in the folder of this checkout. One that cannot be run at all counts as failed. */
export async function runTool(program: string, args: readonly string[]): Promise<ToolResult> {
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
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
