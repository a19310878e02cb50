import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'
import { ownerLives, processName } from '../harness/services.ts'

/** What stays outside a bundle: drivers of other databases, which knex may ask for, native code, and late imports. */
const OUTSIDE = 'mysql mysql2 mariadb oracledb sqlite3 better-sqlite3 tedious pg-query-stream pg-native'
  .split(' ')
  .concat('msgpackr-extract', 'argon2', '@aws-sdk')

const PROGRAMS = { web: 'dist/src/api/main.js', worker: 'dist/src/workers/main.js' }

/**
 * Node 20 has no `navigator`. The driver of Postgres then tells by the built-in fetch where it runs, and to load that
 * takes 20 ms of each start, which no later Node spends.
 */
const NAVIGATOR = 'globalThis.navigator ??= { userAgent: `Node.js/${parseInt(process.versions.node)}` }'

/** The exit code of a program without its settings. */
const UNCONFIGURED = 78

/**
 * A program awaits its own start, which CommonJS modules cannot do; nothing comes after it.
 */
const starting = {
  name: 'start without top-level await',
  transform: (code: string, id: string): string | null =>
    id.endsWith('/main.js') && Object.values(PROGRAMS).some((program) => id.endsWith(program))
      ? `(async () => {\n${code.replace(/^export \{\};?$/m, '')}\n})()`
      : null,
}

/** Removes the bundles of killed runs. */
function sweep(): void {
  for (const entry of readdirSync(join(root, 'dist'))) {
    const owner = /^bundled-(\w+)-/.exec(entry)?.[1]
    if (owner !== undefined && !ownerLives(owner)) rmSync(join(root, 'dist', entry), { recursive: true })
  }
}

/**
 * Bundles the compiled programs, with their packages, into few files, which are compiled to machine code once, and
 * answers the folder with `web.cjs` and `worker.cjs`, which its caller removes. The soak starts them some four hundred
 * times, `npm test` often, and most of a start is the search for a thousand files and their compilation.
 */
export async function bundlePrograms(): Promise<string> {
  sweep()
  // In dist, where the programs look for what was built with them.
  const folder = mkdtempSync(join(root, 'dist', `bundled-${processName}-`))
  const { build } = await import('vite')
  const { NODE_ENV } = process.env
  const built = await build({
    configFile: false,
    root,
    logLevel: 'silent',
    plugins: [starting],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: folder,
      minify: false,
      target: 'node20',
      rollupOptions: {
        input: Object.fromEntries(Object.entries(PROGRAMS).map(([name, file]) => [name, join(root, file)])),
        external: (id) => OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)),
        output: {
          format: 'cjs',
          // Code that was kept cannot import (kept-code.cjs); what it imports late can be required.
          dynamicImportInCjs: false,
          entryFileNames: '[name]-program.cjs',
          // Beside each other: they look for `../sql` and `../console`.
          chunkFileNames: '[name]-[hash].cjs',
          // Less to read at each start. Names stay: errors and logs have them.
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
        },
      },
    },
  })
  // vite sets it for this process, whose tests shall run as those of mocha alone.
  if (NODE_ENV === undefined) delete process.env.NODE_ENV
  else process.env.NODE_ENV = NODE_ENV
  copyFileSync(join(root, 'scripts/testing/kept-code.cjs'), join(folder, 'kept-code.cjs'))
  const chunks = 'output' in built ? built.output : []
  for (const name of Object.keys(PROGRAMS)) {
    const lines = [NAVIGATOR, "require('./kept-code.cjs')", `require('./${name}-program.cjs')`, '']
    writeFileSync(join(folder, `${name}.cjs`), lines.join('\n'))
    const entry = chunks.find(({ fileName }) => fileName === `${name}-program.cjs`)
    keepCodeOf(folder, name, entry?.type === 'chunk' ? entry.dynamicImports : [])
  }
  return folder
}

/**
 * Starts a program without settings, at which it ends, so that it keeps the code that a start compiles. Such a start
 * ends before it has loaded `parts`, which it loads as it ends. @throws an Error if the code of a part was not kept.
 */
function keepCodeOf(folder: string, name: string, parts: readonly string[]): void {
  try {
    const env = { KEEP_CODE: parts.join(' ') }
    execFileSync(process.execPath, [join(folder, `${name}.cjs`)], { env, stdio: 'ignore' })
  } catch (error) {
    if ((error as { status?: number }).status !== UNCONFIGURED) throw error
  }
  const lost = parts.filter((part) => !existsSync(join(folder, `${part}.code`)))
  if (parts.length === 0 || lost.length > 0) throw new Error(`the code of the ${name} was not kept: ${lost.join(', ')}`)
}
