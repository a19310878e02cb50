/** What every process opens first: its configuration and its log; and how it ends. */
import { constants } from 'node:os'
import { reportDefect, surviveDefects } from './defects.ts'
import { ConfigError, EXIT_CONFIG, configWarnings, readConfig } from '../config/config.ts'
import type { ConfigWith, KnownQueues } from '../config/config.ts'
import { createLog, logWritten, sentenceOf } from './log.ts'
import type { Log } from './log.ts'
import { holdWarnings } from './warnings.ts'
import { watchLoop } from './watchdog.ts'

/**
 * A running process. `stop` ends it in an orderly way, within the time that platforms give; `reload` is what it does at
 * SIGHUP: it checks for a new version of the catalogue.
 */
export type Running = { stop: () => Promise<void>; reload: () => void }

/** Node's own limit for a stop; Heroku kills after 30 s. */
const FORCE_EXIT_MS = 29_000

/**
 * Runs a process: reads its configuration, starts it, and ties it to the signals. Any failure to start ends
 * it with exit code 78 and one line that reports what is wrong.
 */
export async function runProcess<Queues extends KnownQueues>(
  name: 'web' | 'worker',
  queues: Queues,
  start: (config: ConfigWith<Queues>, log: Log) => Promise<Running>,
): Promise<void> {
  let running: Running | undefined
  // While it starts, too: without a listener this signal would end the process.
  process.on('SIGHUP', () => running?.reload())
  const warnings = holdWarnings()
  try {
    const config = readConfig(queues)
    const log = createLog(config.LOG_LEVEL, name, config.LOG_UPSTREAM_TEXT === 'on')
    surviveDefects(log)
    watchLoop(name)
    for (const warning of configWarnings(config, queues)) log.warn(warning)
    // Before the log reports that the process runs: a supervisor may send SIGTERM as soon as it reads that.
    stopOnSignals(() => running, log)
    running = await start(config, log)
    warnings.logTo(log)
  } catch (error) {
    refuseStart(name, error)
  }
}

function stopOnSignals(started: () => Running | undefined, log: Log): void {
  const stop = (signal: NodeJS.Signals): void => {
    const running = started()
    // While it starts there is nothing to stop in order.
    if (!running) process.exit(128 + constants.signals[signal])
    log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), FORCE_EXIT_MS).unref()
    running
      .stop()
      .then(
        () => 0,
        (error: unknown) => {
          log.error({ err: error }, 'stop failed')
          return 1
        },
      )
      .then(async (code) => {
        await logWritten()
        process.exit(code)
      })
      .catch(reportDefect)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

/** Ends a process that cannot start: one line, no matter what LOG_LEVEL is, and exit code 78. */
export function refuseStart(name: 'web' | 'worker' | 'release', error: unknown): never {
  const log = createLog('fatal', name)
  if (error instanceof ConfigError) log.fatal(error.message)
  else log.fatal({ err: error }, `refused to start: ${sentenceOf(error)}.`)
  process.exit(EXIT_CONFIG)
}
