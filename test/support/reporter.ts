import { writeFileSync } from 'node:fs'
import mocha from 'mocha'
import { closingLine } from '../../scripts/testing/closing-line.ts'
import type { Counts } from '../../scripts/testing/closing-line.ts'

/**
 * mocha's own reporter (each test as it ends, each failure in full at the end), and then the counts: in the file that
 * `npm test` names in TOLLGATE_TEST_RESULT, which adds its own, or else as the closing line.
 */
export default class Reporter extends mocha.reporters.Spec {
  /** Subscribes to a run. */
  constructor(runner: mocha.Runner, options: mocha.MochaOptions) {
    super(runner, options)
    runner.once(mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes = 0, failures = 0, pending = 0 } = runner.stats ?? {}
      const counts: Counts = { passed: passes, failed: failures, skipped: pending }
      const file = process.env['TOLLGATE_TEST_RESULT']
      if (file) writeFileSync(file, JSON.stringify(counts))
      else console.log(closingLine(counts))
    })
  }
}
