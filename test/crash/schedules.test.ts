import { expect } from 'chai'
import fc from 'fast-check'
import { deleteAccounts } from './simulation/accounts.ts'
import { openScheduleDatabase } from './simulation/database.ts'
import type { ScheduleDatabase } from './simulation/database.ts'
import { schedules } from './schedule/moves.ts'
import { checkOutcome } from './schedule/checks.ts'
import { play } from './schedule/run.ts'
import type { ScheduleRun } from './schedule/schedule-run.ts'
import { seed, report } from './scale.ts'

/** How many schedules `npm test` runs. The soak runs ten thousand, each with a seed of its own. */
const RUNS = Number(process.env['TOLLGATE_SCHEDULES'] ?? 200)

/** How many are checked at once. */
const TOGETHER = 20

describe('any schedule of calls and faults', () => {
  let own: ScheduleDatabase
  before(async () => {
    own = await openScheduleDatabase()
  })
  after(() => own.close())

  /** Checks the schedules that were run, and empties the database. */
  async function checkAll(runs: ScheduleRun[]): Promise<void> {
    await checkOutcome(own.db, runs.splice(0))
    await deleteAccounts(own.cleanupDb)
  }

  it('ends every call, charges it once, settles or refunds it once, and answers its clients', async () => {
    const startedAt = performance.now()
    let played = 0
    const runs: ScheduleRun[] = []
    const result = await fc.check(
      fc.asyncProperty(schedules, async (schedule) => {
        runs.push(await play(own.db, `schedule-${++played}`, schedule))
        if (runs.length === TOGETHER || played === RUNS) await checkAll(runs)
      }),
      { numRuns: RUNS, seed, endOnFailure: true },
    )
    const each = (performance.now() - startedAt) / played
    report(`${played} schedules, ${each.toFixed(0)} ms each, seed ${seed}`)
    const run = result.errorInstance instanceof Error ? result.errorInstance.message : ''
    expect(result.failed, `TOLLGATE_SEED=${seed} plays it again; ${run}`).to.equal(false)
  }).timeout(180_000 + 600 * RUNS)
})
