/** Claude Code as it is on npm, run against a gateway, with a home and a folder of its own. `cli`: its program. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** No other host than this one can be reached. */
const ALONE = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' }

/** How long a run may take, in ms: its upstream answers at once. */
const RUN_MS = 50_000

/** How a run ended. `result` is what it tells its user. */
export type Told = { isError: boolean; result: string; turns: number; exitCode: number }

/** Where a run is sent, and what it may do. */
export type Session = {
  cli: string
  url: string
  key: string
  model: string
  prompt: string
  tools?: string[]
  folder?: string
}

/** Runs lines of a shell in which `claude` is a command and `$KEY` a key; answers what they print. */
export async function runLines(cli: string, lines: string, key: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'tollgate-claude-'))
  writeFileSync(join(home, 'claude'), `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`, { mode: 0o755 })
  const env = { ...ALONE, HOME: home, PATH: `${home}:${process.env.PATH}`, KEY: key }
  try {
    const ended = run('sh', ['-ec', lines], { cwd: home, env, timeout: RUN_MS })
    ended.child.stdin?.end()
    return (await ended).stdout
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Runs `claude -p` to its end. Nothing but the gateway can be reached. */
export async function runClaude({ cli, url, key, model, prompt, tools = [], folder }: Session): Promise<Told> {
  const home = mkdtempSync(join(tmpdir(), 'tollgate-claude-'))
  const args = ['-p', prompt, '--model', model, '--output-format', 'json']
  if (tools.length > 0) args.push('--allowedTools', ...tools)
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ...ALONE,
  }
  try {
    const ended = run(process.execPath, [cli, ...args], { cwd: folder ?? home, env, timeout: RUN_MS })
    ended.child.stdin?.end()
    return toldBy((await ended).stdout, 0)
  } catch (error) {
    const { stdout = '', stderr = '', code } = error as { stdout?: string; stderr?: string; code?: unknown }
    if (typeof code !== 'number' || stdout === '') throw new Error(`claude: ${String(code)} ${stdout}${stderr}`)
    return toldBy(stdout, code)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function toldBy(stdout: string, exitCode: number): Told {
  const { is_error, result, num_turns } = JSON.parse(stdout) as { is_error: boolean; result: string; num_turns: number }
  return { isError: is_error, result, turns: num_turns, exitCode }
}
