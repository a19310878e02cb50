/** The web process: `node dist/src/api/main.js`. */
import { runProcess } from '../shared/infra/process.ts'
import { startWeb } from './web.ts'

await runProcess('web', (config, log) => startWeb(config, log))
