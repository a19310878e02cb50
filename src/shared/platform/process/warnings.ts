/**
 * Warnings of Node and of libraries (`process.emitWarning`, `console.warn`) as lines of the log. As they come they are
 * text, which no reader of JSON lines understands.
 */
import { format } from 'node:util'
import { sentenceOf } from './log.ts'
import type { Log } from './log.ts'

/** Warnings that have not been logged yet. */
export type HeldWarnings = {
  /** Logs those that were held, and from now on each one at once, at level `warn`. */
  logTo: (log: Log) => void
}

/**
 * Takes warnings over from Node, and holds them: a refused start logs its reason alone. Where they are switched
 * off (NODE_NO_WARNINGS, `--no-warnings`) they stay off.
 */
export function holdWarnings(): HeldWarnings {
  const held: Error[] = []
  let report = (warning: Error): void => {
    held.push(warning)
  }
  if (process.listenerCount('warning') > 0) {
    process.removeAllListeners('warning')
    process.on('warning', (warning) => report(warning))
  }
  // Nothing is written there: what others write is taken over.
  // oxlint-disable-next-line no-console
  console.warn = (...words: unknown[]) => process.emitWarning(format(...words))
  return {
    logTo: (log) => {
      report = (warning) => {
        const { name, code } = warning as Error & { code?: unknown }
        log.warn({ warning: name, ...(typeof code === 'string' && { code }) }, sentenceOf(warning))
      }
      held.splice(0).forEach(report)
    },
  }
}
