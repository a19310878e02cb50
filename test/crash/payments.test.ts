import { setSourceMapsEnabled } from 'node:process'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { deleteAccounts } from './simulation/accounts.ts'
import { openScheduleDatabase } from './simulation/database.ts'
import type { ScheduleDatabase } from './simulation/database.ts'
import { checkOutcome } from './payments/outcome.ts'
import { watchFailpoints } from './payments/lives.ts'
import { schedules } from './payments/moves.ts'
import { play, withHistory } from './payments/play.ts'
import { playAll } from './scale.ts'
import { shortenStacks } from './simulation/stacks.ts'

/** How many schedules `npm test` plays; the soak plays two thousand, each with a seed of its own. */
const RUNS = Number(process.env['TOLLGATE_PAYMENT_SCHEDULES'] ?? 40)

/**
 * After so many the books are audited, and everything is emptied: to audit after each would cost as much as to play it.
 */
const TOGETHER = 20

describe('any schedule of payments and faults', () => {
  let own: ScheduleDatabase
  let sandbox: Sandbox
  let unwatch: () => void
  let lengthenStacks: () => void
  before(async () => {
    own = await openScheduleDatabase()
    sandbox = await createSandbox()
    unwatch = watchFailpoints()
    // Stripe's client writes a stack at every request; mapped, each costs as much as the rest of the request.
    setSourceMapsEnabled(false)
    lengthenStacks = shortenStacks()
  })
  after(async () => {
    lengthenStacks()
    setSourceMapsEnabled(true)
    unwatch()
    await sandbox.close()
    await own.close()
  })

  /** Audits what was played, and begins anew: what is kept of a thousand schedules slows the next one down. */
  async function audit(): Promise<void> {
    await expectBooksToBalance(own.db)
    await deleteAccounts(own.cleanupDb)
    await sandbox.close()
    sandbox = await createSandbox()
  }

  it('credits what is paid and not taken back, once, whatever of its events arrives and whoever dies', async () => {
    await playAll('schedules of payments', schedules, RUNS, async (schedule, nth) => {
      const run = await play(own.db, sandbox, schedule)
      await checkOutcome(run).catch((error: unknown) => {
        throw withHistory(run, error)
      })
      if (nth % TOGETHER === 0 || nth === RUNS) await audit()
    })
  }).timeout(180_000 + 2500 * RUNS)
})
