/**
 * What every process opens first: configuration, log, Postgres, catalogue.
 */
import { connectDb } from './db.ts'
import { ConfigError, EXIT_CONFIG, readConfig } from '../config.ts'
import type { Config } from '../config.ts'
import { createLog } from './log.ts'
import type { Log } from './log.ts'
import { catalogueWarnings } from '../catalogue/catalogue.ts'
import type { CatalogueHolder } from '../catalogue/catalogue.ts'
import { Calls } from '../calls/calls.ts'
import type { CallsObserver } from '../calls/observer.ts'

/** The verbs of calls over a new pool. @param observer measures them. */
export function openDatabase(config: Config, observer?: CallsObserver) {
  const db = connectDb(config)
  const calls = new Calls(
    db,
    { resultSeconds: config.RESULT_TTL_SECONDS, maxOutstanding: config.MAX_OUTSTANDING_CALLS },
    observer,
  )
  return { db, calls }
}

/** A running process: `stop` ends it in an orderly way, within the time that platforms give. */
export type Running = { stop: () => Promise<void>; reload: () => void }

/** Node's own limit for a stop; Heroku kills after 30 s. */
const FORCE_EXIT_MS = 29_000

/**
 * Runs a process: reads its configuration, starts it, and ties it to the signals. A configuration that cannot be used
 * ends it with exit code 78 and one message that names every offending variable.
 */
export async function runProcess(
  name: 'web' | 'worker',
  start: (config: Config, log: Log) => Promise<Running>,
): Promise<void> {
  let log = createLog('info', name)
  try {
    const config = readConfig()
    log = createLog(config.LOG_LEVEL, name)
    const running = await start(config, log)
    const stop = (signal: string) => {
      log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), FORCE_EXIT_MS).unref()
      void running.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'stop failed')
          process.exit(1)
        },
      )
    }
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
    process.on('SIGHUP', () => running.reload())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    log.fatal(error.message)
    process.exitCode = EXIT_CONFIG
    process.exit()
  }
}

/** Logs what an operator should know about the catalogue in use. */
export function warnOfCatalogue(catalogue: CatalogueHolder, log: Log): void {
  for (const warning of catalogueWarnings(catalogue.current())) log.warn(warning)
}

/** SIGHUP: reads the catalogue again; a bad file changes nothing and is logged. */
export function reloadCatalogue(catalogue: CatalogueHolder, log: Log): void {
  try {
    catalogue.reload()
    warnOfCatalogue(catalogue, log)
    log.info({ models: catalogue.current().models.size }, 'catalogue reloaded')
  } catch (error) {
    log.error({ err: error }, 'catalogue not reloaded')
  }
}
