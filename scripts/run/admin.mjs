/**
 * `npm run admin -- …`. With the packages for development, it builds what is stale and finds the database of
 * `npm start` (compiled.ts); without them, as in production, it runs what was built.
 */
import { existsSync } from 'node:fs'

const built = new URL('../../dist/src/admin/main.js', import.meta.url)

if (existsSync(new URL('../../node_modules/tsx', import.meta.url))) {
  const { register } = await import('tsx/esm/api')
  register()
  process.argv.splice(2, 0, 'admin')
  await import('./compiled.ts')
} else if (existsSync(built)) {
  await import(built.href)
} else {
  console.error('Nothing has been built: run npm ci && npm run build, which need the packages for development.')
  process.exitCode = 1
}
