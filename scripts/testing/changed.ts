import { execFileSync } from 'node:child_process'
import type { ICruiseResult } from 'dependency-cruiser'
import { root } from '../folders.ts'
import { runTool } from '../tools.ts'

/** Folders whose imports are read. */
const SOURCES = ['src', 'sandbox', 'scripts', 'bench', 'test', 'migrations']

/** A change of one of these may affect anything. */
const EVERYTHING = /^(?:package(?:-lock)?\.json|tsconfig.*\.json|\.mocharc\.json|knexfile\.ts|models.*\.json)$/

/** Tests that read the whole tree; they take seconds. */
const READ_EVERYTHING = /^test\/(?:rules|docs)\//

/** What files use without importing it: one that matches `user` is affected by changes of those that match `used`. */
const UNIMPORTED: { user: RegExp; used: RegExp }[] = [
  { user: /^scripts\/harness\/database\.ts$/, used: /^(?:sql|migrations)\// },
  // It starts the compiled programs.
  { user: /^scripts\/(?:harness\/(?:installation|processes)|build\/builder)\.ts$/, used: /^(?:src|sandbox|sql)\// },
  { user: /^test\/console\//, used: /^(?:src\/console|assets)\// },
]

/** The files that differ from a commit, and those that are new. Throws an Error if there is no such commit. */
export function changedSince(commit: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '')
  return [...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')]
}

/** By file, the files that import it. */
export type Importers = Map<string, string[]>

/** Those of `tests` that a change of files affects, by imports and by what is used without an import. */
export function affectedTests(changed: string[], tests: string[], users: Importers): string[] {
  if (changed.some((file) => EVERYTHING.test(file))) return tests
  const affected = new Set(changed)
  const waiting = [...changed]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const next = [...(users.get(file) ?? []), ...unimportedUsers(file, [...users.keys()])]
    for (const user of next) {
      if (affected.has(user)) continue
      affected.add(user)
      waiting.push(user)
    }
  }
  return tests.filter((test) => affected.has(test) || (changed.length > 0 && READ_EVERYTHING.test(test)))
}

const unimportedUsers = (file: string, all: string[]): string[] =>
  UNIMPORTED.filter(({ used }) => used.test(file)).flatMap(({ user }) => all.filter((one) => user.test(one)))

/**
 * Reads all imports of these folders, by default of all, which takes seconds. Throws an Error if they cannot be read.
 */
export async function readImporters(folders: readonly string[] = SOURCES): Promise<Importers> {
  const { output } = await runTool('npx', ['depcruise', '--config', '--output-type', 'json', ...folders])
  if (!output.startsWith('{')) throw new Error(`The imports cannot be read: ${output}`)
  const { modules } = JSON.parse(output) as ICruiseResult
  return new Map(modules.map(({ source, dependents }) => [source, dependents ?? []]))
}
