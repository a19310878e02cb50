/**
 * How long each file of tests takes (`npm test -- --times`): a line of JSON for each in the file that
 * TOLLGATE_TEST_TIMES names.
 */
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Context } from 'mocha'

const times = process.env['TOLLGATE_TEST_TIMES']

let since = performance.now()

export const mochaHooks = {
  afterAll(this: Context): void {
    if (!times) return
    const now = performance.now()
    const file = this.test?.parent?.suites[0]?.file ?? 'a file without suites'
    appendFileSync(times, `${JSON.stringify({ file: relative(process.cwd(), file), ms: Math.round(now - since) })}\n`)
    since = now
  },
}
