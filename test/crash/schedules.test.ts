import { expect } from 'chai'
import { deleteAccounts } from './simulation/accounts.ts'
import { openScheduleDatabase } from './simulation/database.ts'
import type { ScheduleDatabase } from './simulation/database.ts'
import { schedules } from './schedule/moves.ts'
import type { Ask, Move } from './schedule/moves.ts'
import { checkOutcome } from './schedule/checks.ts'
import { play } from './schedule/run.ts'
import type { ScheduleRun } from './schedule/schedule-run.ts'
import { simulate } from './simulator.ts'

/** How many schedules `npm test` runs. The soak runs eight thousand, each with a seed of its own. */
const RUNS = Number(process.env['TOLLGATE_SCHEDULES'] ?? 80)

/** What is asked for where nothing fails by itself. */
const ASK: Omit<Ask, 'modality'> = {
  auth: 0,
  dialect: 'chat',
  stream: false,
  second: false,
  large: false,
  key: null,
  failures: [],
  usage: null,
  long: false,
  polls: 0,
  missing: 0,
  breaksAfter: null,
  taskFails: false,
}

const GO: Move = { do: 'go', places: [0] }
const DELIVER: Move = { do: 'deliver', jobs: 1, worker: 0 }
const STOP: Move = { do: 'stop worker', which: 0 }

describe('any schedule of calls and faults', () => {
  let own: ScheduleDatabase
  before(async () => {
    own = await openScheduleDatabase()
  })
  after(() => own.close())

  /** Checks the schedules that were run, and empties the database. */
  async function check(runs: readonly ScheduleRun[]): Promise<void> {
    await checkOutcome(own.db, runs)
    await deleteAccounts(own.cleanupDb)
  }

  it('ends every call, charges it once, settles or refunds it once, and answers its clients', () =>
    simulate(
      { what: 'schedules', schedules, play: (name, schedule) => play(own.db, name, schedule), check },
      RUNS,
    )).timeout(180_000 + 600 * RUNS)

  /** Plays these moves of one account without limits. */
  const playOne = (name: string, moves: Move[]): Promise<ScheduleRun> =>
    play(own.db, name, {
      keys: 1,
      grants: [[1000]],
      limits: [null],
      tokens: [{ account: null, key: null }],
      grouped: [false],
      moves,
    })

  it('leaves speech that was heard to be paid when a second worker fails with it, too', async () => {
    const LAPSE: Move = { do: 'lapse', which: 0 }
    const heard: Move[] = [{ do: 'ask', asks: [{ ...ASK, modality: 'speech' }] }, GO, GO, DELIVER, GO, GO, GO]
    const run = await playOne('heard', [...heard, LAPSE, DELIVER, LAPSE, DELIVER])
    expect(run.requests[0]!.received).to.not.equal('')
    expect(run.simulation.settledBy.has(run.requests[0]!.callId)).to.equal(true)
    await check([run])
  })

  for (const modality of ['image', 'moderation', 'embedding', 'rerank'] as const) {
    it(`sends nothing again that one stopped worker has sent, and another has taken over: ${modality}`, async () => {
      const opened: Move[] = [{ do: 'ask', asks: [{ ...ASK, modality }] }, GO, GO]
      // The request leaves while its worker stops; the next one is stopping when it begins the call.
      const sent: Move[] = [DELIVER, GO, STOP, GO, GO]
      const run = await playOne(`stopped-${modality}`, [...opened, ...sent, DELIVER, STOP, GO])
      expect([...run.simulation.upstream.bills.values()]).to.deep.equal([{ accepted: 1, produced: 1 }])
      await check([run])
    })
  }
})
