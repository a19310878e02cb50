/** The web process: `node dist/src/api/main.js`. */
import { runProcess } from '../shared/core.ts'
import { startWeb } from './web.ts'

await runProcess('web', (config, log) => startWeb(config, log))
