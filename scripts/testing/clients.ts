import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'
import { runTool } from '../tools.ts'

/** How to install what tests need of the registry, as a message names it. */
export const PREPARATION = 'npm run prepare-tests'

/**
 * Clients of others that tests run. They are not in package.json: they have hundreds of MB and terms of their own, and
 * nothing but these tests needs them.
 */
const CLIENTS = {
  'claude-code': {
    package: '@anthropic-ai/claude-code',
    version: '2.1.332',
    program: 'node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs',
  },
  codex: { package: '@openai/codex', version: '0.169.0', program: 'node_modules/.bin/codex' },
  'gemini-cli': {
    package: '@google/gemini-cli',
    version: '0.61.0',
    program: 'node_modules/@google/gemini-cli/bundle/gemini.js',
  },
  'google-genai': {
    package: '@google/genai',
    version: '3.1.0',
    program: 'node_modules/@google/genai/dist/node/index.mjs',
  },
} as const

export type ClientName = keyof typeof CLIENTS

export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]

const folderOf = (name: ClientName): string => join(root, 'node_modules/.cache', name, CLIENTS[name].version)

/** The path of a client's program; null where it is not installed. */
export function clientProgram(name: ClientName): string | null {
  const path = join(folderOf(name), CLIENTS[name].program)
  return existsSync(path) ? path : null
}

/** Installs a client from the registry unless it is there. @throws an Error with npm's output where it cannot */
export async function installClient(name: ClientName): Promise<void> {
  if (clientProgram(name) !== null) return
  const target = folderOf(name)
  mkdirSync(join(target, '..'), { recursive: true })
  const folder = mkdtempSync(join(target, '../installing-'))
  const { package: packageName, version } = CLIENTS[name]
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  try {
    const { ok, output } = await runTool('npm', ['install', '--prefix', folder, ...flags, `${packageName}@${version}`])
    if (!ok) throw new Error(output)
    // Another process may have been faster.
    if (!existsSync(target)) renameSync(folder, target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
