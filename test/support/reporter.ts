import { writeFileSync } from 'node:fs'
import mocha from 'mocha'
import { closingLine } from '../../scripts/testing/closing-line.ts'
import type { Ended } from '../../scripts/testing/closing-line.ts'

/**
 * mocha's own reporter (each test as it ends, each failure in full at the end), and then the counts: with the failures
 * in the file that TOLLGATE_TEST_RESULT names, for `npm test`, which adds its own, and for the soak; or else as the
 * closing line.
 */
export default class Reporter extends mocha.reporters.Spec {
  /** Subscribes to a run. */
  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options)
    runner.once(mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes = 0, failures = 0, pending = 0 } = runner.stats ?? {}
      const failed = this.failures.map((test) => ({
        title: test.fullTitle(),
        file: test.file ?? '',
        message: test.err?.message ?? '',
      }))
      const ended: Ended = { passed: passes, failed: failures, skipped: pending }
      const file = process.env['TOLLGATE_TEST_RESULT']
      if (file) writeFileSync(file, JSON.stringify({ ...ended, ...(failed.length > 0 && { failures: failed }) }))
      else console.log(closingLine(ended))
    })
  }
}
