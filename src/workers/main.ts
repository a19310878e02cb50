/** The worker process: `node dist/src/workers/main.js`. */
import { runProcess } from '../shared/infra/process.ts'
import { startWorker } from './worker.ts'

await runProcess('worker', (config, log) => startWorker(config, log))
