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
import { play } from './payments/play.ts'
import { simulate, withHistory } from './simulator.ts'

/** How many schedules `npm test` plays; the soak plays two thousand, each with a seed of its own. */
const RUNS = Number(process.env['TOLLGATE_PAYMENT_SCHEDULES'] ?? 40)

describe('any schedule of payments and faults', () => {
  let own: ScheduleDatabase
  let sandbox: Sandbox
  let unwatch: () => void
  const stackFrames = Error.stackTraceLimit
  before(async () => {
    own = await openScheduleDatabase()
    sandbox = await createSandbox()
    unwatch = watchFailpoints()
    // Stripe's client writes a stack at every request. Mapped, and with all its frames, which mocha has Node keep, each
    // costs as much as the rest of the request.
    setSourceMapsEnabled(false)
    Error.stackTraceLimit = 10
  })
  after(async () => {
    Error.stackTraceLimit = stackFrames
    setSourceMapsEnabled(true)
    unwatch()
    await sandbox.close()
    await own.close()
  })

  it('credits what is paid and not taken back, once, whatever of its events arrives and whoever dies', async () => {
    await simulate(
      {
        what: 'schedules of payments',
        schedules,
        play: (name, moves) => play(own.db, sandbox, name, moves),
        check: async (runs) => {
          for (const run of runs)
            await checkOutcome(run).catch((error: unknown) => {
              throw withHistory(run, error)
            })
          await expectBooksToBalance(own.db)
          await deleteAccounts(own.cleanupDb)
          // What is kept of a thousand schedules slows the next one down.
          await sandbox.close()
          sandbox = await createSandbox()
        },
      },
      RUNS,
    )
  }).timeout(180_000 + 2500 * RUNS)
})
