/**
 * Defects that reach no caller: a rejection that nobody handles, an exception that nobody catches. Each is a line of
 * the log and a number of the metrics, and the process lives on: the work of all others is not to end with one.
 */
import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Log } from './log.ts'

/** `rejection`: of a promise that nobody waits for. `exception`: out of a timer, a listener or a callback. */
const KINDS = ['rejection', 'exception'] as const
type DefectKind = (typeof KINDS)[number]

const counted: Record<DefectKind, number> = { rejection: 0, exception: 0 }

let write: ((kind: DefectKind, defect: unknown) => void) | undefined

function note(kind: DefectKind, defect: unknown): void {
  counted[kind] += 1
  try {
    write?.(kind, defect)
  } catch {
    write?.(kind, new Error('thrown was something that has no text'))
  }
}

/**
 * From now on, what would end this process is logged at level `error`, as a line with the fields `defect` and `err`,
 * and counted. Call it once, before the process opens anything.
 */
export function surviveDefects(log: Log): void {
  write = (kind, defect) => log.error({ defect: kind, err: defect }, 'defect outside of any request or job')
  process.on('unhandledRejection', (reason) => note('rejection', reason))
  process.on('uncaughtException', (error) => note('exception', error))
}

/**
 * The handler of work that nobody waits for and that is not expected to fail: `x().catch(reportDefect)`. Where
 * `surviveDefects` was not called, as in a test, it stays an unhandled rejection.
 */
export function reportDefect(defect: unknown): void {
  if (!write) throw defect
  note('rejection', defect)
}

/** Shows how many defects this process has survived. */
export function showDefects(registry: Registry): void {
  new Counter({
    name: 'tollgate_defects_total',
    help: 'Rejections that nobody handled and exceptions that nobody caught: each is a line of the log, and a bug.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset()
      for (const kind of KINDS) this.inc({ kind }, counted[kind])
    },
  })
}
