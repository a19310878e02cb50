/** Claude Code as it is on npm, run against a gateway. `cli`: its program. */
import { turnOf } from '../../support/clients.ts'

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
  const claude = `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`
  return (await turnOf(['sh', '-ec', lines], { env: { KEY: key }, home: { claude } })).stdout
}

/** Runs `claude -p` to its end. */
export async function runClaude({ cli, url, key, model, prompt, tools = [], folder }: Session): Promise<Told> {
  const args = ['-p', prompt, '--model', model, '--output-format', 'json']
  if (tools.length > 0) args.push('--allowedTools', ...tools)
  const { stdout, stderr, exitCode } = await turnOf([process.execPath, cli, ...args], {
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    ...(folder !== undefined && { work: folder }),
  })
  if (typeof exitCode !== 'number' || stdout === '') throw new Error(`claude: ${String(exitCode)} ${stdout}${stderr}`)
  const { is_error, result, num_turns } = JSON.parse(stdout) as { is_error: boolean; result: string; num_turns: number }
  return { isError: is_error, result, turns: num_turns, exitCode }
}
