import pino from 'pino'
import type { Log } from '../../src/shared/platform/process/log.ts'
import { describeError } from '../../src/shared/platform/process/log.ts'

/** A line of a log, parsed. */
export type LogLine = { level: number; msg: string; [field: string]: unknown }

/** A log that a test can read, at every level. */
export function readableLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = []
  const log = pino(
    { level: 'trace', serializers: { err: describeError } },
    { write: (line: string) => lines.push(JSON.parse(line) as LogLine) },
  )
  return { log, lines }
}
