import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'
import { ownerLives, processName } from '../harness/services.ts'
import { runTool } from '../tools.ts'

/** What stays outside a bundle: drivers of other databases, which knex may ask for, native code, and late imports. */
const OUTSIDE = 'mysql mysql2 mariadb oracledb sqlite3 better-sqlite3 tedious pg-query-stream pg-native'
  .split(' ')
  .concat('msgpackr-extract', 'argon2', '@node-rs', '@aws-sdk')

const PROGRAMS = {
  web: 'dist/src/api/main.js',
  worker: 'dist/src/workers/main.js',
  // A thread, whose script is looked for next to what starts it.
  'measuring-thread': 'dist/src/api/v1/audio/measuring-thread.js',
}

/** A program awaits its own start, which CommonJS modules cannot do; nothing comes after it. */
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
 * Bundles the compiled programs, with their packages, into few files, and returns the folder with `web.cjs` and
 * `worker.cjs`, which its caller removes. The soak starts them some four hundred times, `npm test` often, and most of a
 * start is the search for a thousand files.
 */
export async function bundlePrograms(): Promise<string> {
  sweep()
  // In dist, where the programs find what was built with them.
  const folder = mkdtempSync(join(root, 'dist', `bundled-${processName}-`))
  const { build } = await import('vite')
  const { NODE_ENV } = process.env
  await build({
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
          entryFileNames: '[name].cjs',
          // Next to each other: they need `../sql` and `../console`.
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
  await compile(folder)
  return folder
}

/** Stores what V8 compiles of bundles, for `scripts/harness/compiled-preload.cjs`. */
async function compile(folder: string): Promise<void> {
  const chunks = readdirSync(folder).filter((name) => /^(?:web|worker)-.*cjs$/.test(name))
  const load = `for (const name of ${JSON.stringify(chunks)}) require(${JSON.stringify(`${folder}/`)} + name)`
  const preload = join(root, 'scripts/harness/compiled-preload.cjs')
  const env = { ...process.env, TOLLGATE_TEST_COMPILES: '1' }
  const { ok, output } = await runTool(process.execPath, ['--require', preload, '--eval', load], { env })
  if (!ok) throw new Error(output)
}
