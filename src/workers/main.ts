/** The worker process: `node dist/src/workers/main.js`. */

// Before the rest is loaded: a platform may send SIGHUP at any time, and without a listener it ends the process.
process.on('SIGHUP', () => {})
const { runProcess } = await import('../shared/infra/process.ts')
const { startWorker } = await import('./worker.ts')

await runProcess('worker', (config, log) => startWorker(config, log))

export {}
