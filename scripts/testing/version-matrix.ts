import '../require-node.ts'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { root } from '../folders.ts'
import { readOptions } from '../options.ts'
import { packageName } from '../services/postgres-binaries.ts'
import { runTool } from '../tools.ts'

/**
 * `npm run version-matrix -- [--node 20,22,24] [--postgres 13,15,18] [-- test/sql.test.ts …]`: runs the tests, or those
 * that are named, under other versions than the installed ones: each major of Node and of Postgres, from packages of
 * the registry. Prints a line for each version, and its output where it failed; the exit code is 0 only if all passed.
 */
const usage = 'npm run version-matrix -- [--node 20,22,24] [--postgres 13,15,18] [-- TEST …]'
const { values, positionals } = readOptions(usage, {
  allowPositionals: true,
  options: { node: { type: 'string', default: '20,22,24' }, postgres: { type: 'string', default: '13,15,18' } },
})

/** What tests run under: the PATH comes first, so that every program that a test starts finds the same. */
type Version = { name: string; node: string; environment: Record<string, string> }

const folder = mkdtempSync(join(tmpdir(), 'tollgate-versions-'))
// Postgres, which root runs as another user, must be able to enter it.
chmodSync(folder, 0o755)

/** Installs the newest version of this major, prereleases too, of a package into a folder of its own. */
async function install(name: string, major: string): Promise<{ path: string; version: string }> {
  const { ok: listed, output } = await runTool('npm', ['view', name, 'versions', '--json', '--loglevel=error'])
  if (!listed) throw new Error(`the registry does not list the versions of ${name}: ${output}`)
  const found = (JSON.parse(output) as string[]).filter((version) => version.startsWith(`${major}.`))
  const version = found.toSorted(new Intl.Collator('en', { numeric: true }).compare).at(-1)
  if (version === undefined) throw new Error(`the registry has no ${name} ${major}`)
  const path = join(folder, `${name.replace(/\W+/g, '-')}-${major}`)
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{}')
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const installed = await runTool('npm', ['install', '--prefix', path, ...flags, `${name}@${version}`])
  if (!installed.ok) throw new Error(installed.output)
  return { path, version }
}

async function nodeOf(major: string): Promise<Version> {
  const system = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${system}-${process.arch}`
  const { path, version } = await install(name, major)
  const bin = join(path, 'node_modules', name, 'bin')
  chmodSync(join(bin, 'node'), 0o755)
  const PATH = `${bin}${delimiter}${process.env['PATH']}`
  return { name: `node ${version}`, node: join(bin, 'node'), environment: { PATH } }
}

async function postgresOf(major: string): Promise<Version> {
  const { path, version } = await install(packageName(), major)
  return {
    name: `postgres ${version.replace(/-.*/, '')}`,
    node: process.execPath,
    environment: { TOLLGATE_POSTGRES: join(path, 'package.json') },
  }
}

/** Runs the tests, and prints their closing line. */
async function passes({ name, node, environment }: Version): Promise<boolean> {
  const startedAt = Date.now()
  const args = ['--import', 'tsx', join(root, 'scripts/testing/main.ts'), ...positionals]
  const { ok, output } = await runTool(node, args, { env: { ...process.env, ...environment } })
  if (!ok) console.error(output)
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1)
  console.log(`${name.padEnd(20)} ${output.split('\n').at(-1)} in ${minutes} min`)
  return ok
}

const list = (text: string): string[] => text.split(',').filter(Boolean)
const versions = [
  ...list(values.node).map((major) => ({ name: `node ${major}`, prepare: () => nodeOf(major) })),
  ...list(values.postgres).map((major) => ({ name: `postgres ${major}`, prepare: () => postgresOf(major) })),
]
let passed = true
try {
  // Each is installed right before it runs: what cannot be had fails alone.
  for (const { name, prepare } of versions) {
    const ok = await prepare()
      .then(passes)
      .catch((error: Error) => {
        console.error(`${name.padEnd(20)} not run: ${error.message}`)
        return false
      })
    passed = passed && ok
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = passed ? 0 : 1
