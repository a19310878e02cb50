import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'

/** What stays outside a bundle: drivers of other databases, which knex may ask for, native code, and late imports. */
const OUTSIDE = 'mysql mysql2 mariadb oracledb sqlite3 better-sqlite3 tedious pg-query-stream pg-native'
  .split(' ')
  .concat('msgpackr-extract', 'argon2', '@aws-sdk')

/**
 * Bundles the compiled programs, with their packages, into one file each, and answers the folder with `web.js` and
 * `worker.js`. The soak starts them some four hundred times, and most of a start is the search for a thousand files:
 * bundled they start in 0.3 s of CPU instead of 0.7.
 */
export async function bundlePrograms(): Promise<string> {
  // In dist, where the programs look for what was built with them.
  const folder = mkdtempSync(join(root, 'dist', 'bundled-'))
  const { build } = await import('vite')
  await build({
    configFile: false,
    root,
    logLevel: 'silent',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: folder,
      minify: false,
      target: 'node20',
      rollupOptions: {
        input: { web: join(root, 'dist/src/api/main.js'), worker: join(root, 'dist/src/workers/main.js') },
        external: (id) => OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`)),
        // Beside each other: they look for `../sql` and `../console`.
        output: {
          chunkFileNames: '[name]-[hash].js',
          // Less to read at each start. Names stay: errors and logs have them.
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
        },
      },
    },
  })
  return folder
}
