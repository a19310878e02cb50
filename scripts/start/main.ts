import '../require-node.ts'
import { BuildError } from '../build/builder.ts'
import { readOptions } from '../options.ts'
import { dataFolder, enter, leave, runningIn, shown } from './data-folder.ts'
import { Starter, Stopped } from './starter.ts'

/**
 * `npm start`: everything on a bare machine. Services and build, migrations, the sandbox upstream, one web and one
 * worker process, a demo account; then the logs, until Ctrl-C or SIGTERM stops all of it in order. Exit code 1 when
 * any part fails or dies.
 *
 * `npm run dev` (`--watch`): the same from the sources. Web and worker restart when a file that they import changes,
 * and can be debugged; the console comes from Vite's development server.
 */
const {
  values: { watch },
} = readOptions('npm start, or npm run dev', { options: { watch: { type: 'boolean', default: false } } })
const folder = dataFolder()
const holder = await enter(folder)
if (holder !== undefined) {
  const port = runningIn(folder)?.environment['PORT']
  const where = port === undefined ? '' : `, at http://localhost:${port}`
  console.error(
    `Tollgate is already running from ${shown(folder)} (process ${holder.pid}${where}). Stop that one first.`,
  )
  process.exit(1)
}

let over: () => void
const asked = new Promise<void>((resolve) => {
  over = resolve
})
let signals = 0
let failed = false

function fail(message: string): void {
  // Later failures are consequences of the first.
  if (failed || signals > 0) return
  failed = true
  console.error(`\n${message}\n`)
  over()
}

const starter = new Starter(folder, fail, watch ? 'sources' : 'build')

function interrupt(): void {
  signals += 1
  if (signals === 1) console.log('\nstopping: requests and jobs have up to 30 s to finish (Ctrl-C again stops at once)')
  else starter.finishQuickly()
  over()
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt)
// The reader of the logs has gone, which is no reason to stop serving.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const up = starter.start().catch((error: unknown) => {
  if (error instanceof Stopped) return
  fail(error instanceof BuildError ? `The build failed:\n${error.message}` : (error as Error).message)
})
await asked
const down = starter.stop()
await up
await down
// Again, for what was still being started during the first stop.
await starter.stop()
leave(folder)
console.log('stopped')
process.exit(failed ? 1 : 0)
