/**
 * How long each file of tests takes (`npm test -- --times`): a line of JSON for each in the file that
 * TOLLGATE_TEST_TIMES names, with the CPU time of mocha's worker and of the processes that it started and that have
 * ended, in ms.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Context } from 'mocha'
import { afterEachFile } from './after-file.ts'

const times = process.env['TOLLGATE_TEST_TIMES']

/** Linux counts a process's CPU time in hundredths of a second. */
const MS_PER_TICK = 10

/** CPU time so far, in ms: utime, stime, cutime and cstime of proc(5), which follow the name in parentheses. */
function cpuMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * MS_PER_TICK, 0)
}

let since = performance.now()
let cpuBefore = times ? cpuMs() : 0

function record(path: string): void {
  const [now, cpu] = [performance.now(), cpuMs()]
  const line = { file: relative(process.cwd(), path), ms: Math.round(now - since), cpuMs: cpu - cpuBefore }
  appendFileSync(times!, `${JSON.stringify(line)}\n`)
  since = now
  cpuBefore = cpu
}

export const mochaHooks = {
  beforeAll(this: Context): void {
    if (times) afterEachFile(this, record)
  },
}
