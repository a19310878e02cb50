/** Claude Code as it is on npm, run against a gateway, with a home and a folder of its own. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Not in package.json: its binary has 400 MB and terms of its own, and nothing but these tests needs it. */
const PACKAGE = '@anthropic-ai/claude-code'
const VERSION = '2.1.332'

const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/claude-code')
const FOLDER = join(CACHE, VERSION)
const CLI = join(FOLDER, 'node_modules', PACKAGE, 'cli-wrapper.cjs')

/** No other host than this one can be reached. */
const ALONE = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' }

/** How long an installation may take, in ms; and a run, whose upstream answers at once. */
const INSTALL_MS = 240_000
const RUN_MS = 120_000

/** Installs Claude Code where it is not there yet. @returns why it cannot be; null once it is there */
export async function whyNotInstalled(): Promise<string | null> {
  if (existsSync(FOLDER)) return null
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'installing-'))
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=1']
  try {
    await run('npm', ['install', '--prefix', folder, ...flags, `${PACKAGE}@${VERSION}`], { timeout: INSTALL_MS })
    // Another process may have been faster.
    if (!existsSync(FOLDER)) renameSync(folder, FOLDER)
    return null
  } catch (error) {
    return `${PACKAGE} ${VERSION} could not be installed: ${String((error as Error).message).slice(0, 300)}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** How a run ended. `result` is what it tells its user. */
export type Told = { isError: boolean; result: string; turns: number; exitCode: number }

/** Where a run is sent, and what it may do. */
export type Session = { url: string; key: string; model: string; prompt: string; tools?: string[]; folder?: string }

/** Runs lines of a shell in which `claude` is a command and `$KEY` a key; answers what they print. */
export async function runLines(lines: string, key: string): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'tollgate-claude-'))
  writeFileSync(join(home, 'claude'), `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`, { mode: 0o755 })
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
export async function runClaude({ url, key, model, prompt, tools = [], folder }: Session): Promise<Told> {
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
    const ended = run(process.execPath, [CLI, ...args], { cwd: folder ?? home, env, timeout: RUN_MS })
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
