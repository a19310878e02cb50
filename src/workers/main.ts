/** The worker process: `node dist/src/workers/main.js`. */

// Before the rest is loaded: a platform may send SIGHUP at any time, and without a listener it ends the process.
process.on('SIGHUP', () => {})
const { runProcess } = await import('../shared/platform/process/process.ts')
const { QUEUES } = await import('../shared/terms/kinds.ts')

// The rest is loaded once the configuration is known to be valid; if that fails, it is a refusal like any other.
await runProcess('worker', QUEUES, async (config, log) => (await import('./worker.ts')).startWorker(config, log))

export {}
