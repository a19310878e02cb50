/** The web process: `node dist/src/api/main.js`. */

// Before the rest is loaded: a platform may send SIGHUP at any time, and without a listener it ends the process.
process.on('SIGHUP', () => {})
const { runProcess } = await import('../shared/infra/process.ts')
const { startWeb } = await import('./web.ts')

await runProcess('web', (config, log) => startWeb(config, log))

export {}
