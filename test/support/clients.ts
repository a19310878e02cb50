import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterFile } from '../../scripts/harness/after-file.ts'
import { PREPARATION, clientProgram } from '../../scripts/testing/clients.ts'
import type { ClientName } from '../../scripts/testing/clients.ts'

/** The program of a client that is on the registry. Skips the tests where it is not installed, with a message. */
export function programOf(test: Mocha.Context, name: ClientName): string {
  const path = clientProgram(name)
  if (path !== null) return path
  process.stderr.write(`    skipped: ${name} is not installed. Install it with \`${PREPARATION}\`.\n`)
  return test.skip()
}

/** How long a turn of a client may take, in ms: its upstream answers at once. */
const TURN_MS = 50_000

/** What a turn of a client left: what it printed, how it ended, and the folder that it worked in. */
export type Turn = { stdout: string; stderr: string; exitCode: unknown; work: string }

/**
 * Runs a client in a folder of its own, with nothing of this machine's but its programs: it can reach no other host.
 * @param more `env`: its environment; `home`: texts of files in its home, by path, where programs are found, too;
 *   `work`: the folder that it works in, if not a new one
 */
export async function turnOf(
  [program, ...args]: [string, ...string[]],
  more: { env: Record<string, string>; home?: Record<string, string>; work?: string },
): Promise<Turn> {
  const home = mkdtempSync(join(tmpdir(), 'tollgate-client-'))
  afterFile(() => rmSync(home, { recursive: true, force: true }))
  const { work = join(home, 'work'), home: files = {} } = more
  mkdirSync(work, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text, { mode: 0o755 })
  }
  const alone = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1' }
  const env = { PATH: `${home}:${process.env['PATH']}`, HOME: home, ...alone, ...more.env }
  const running = promisify(execFile)(program, args, { cwd: work, env, timeout: TURN_MS })
  running.child.stdin?.end()
  const { stdout, stderr, code } = await running.then(
    (printed) => ({ ...printed, code: 0 }),
    (error: unknown) => error as { stdout: string; stderr: string; code: unknown },
  )
  return { stdout, stderr, exitCode: code, work }
}
