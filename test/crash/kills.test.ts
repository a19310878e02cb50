import { expect } from 'chai'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { createSandbox } from '../../src/sandbox/server.ts'
import type { Installation } from '../support/processes.ts'
import { install } from '../support/processes.ts'
import { seed, tell } from './scale.ts'
import { spread, storm } from './storm.ts'

/** How many processes die in `npm test`; the soak has hundreds of them, at every step. */
const KILLS = 8

/** The promise is 10 s beyond what the upstream needs, on a machine that is not busy with other tests too. */
const LONGEST_RECOVERY_MS = 30_000

describe('processes killed at named steps of calls, under load', () => {
  let sandbox: Sandbox
  let town: Installation
  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.05 })
    town = await install(sandbox, { DATABASE_POOL: '5' })
  })
  after(async () => {
    await town.end()
    await sandbox.close()
  })

  it('leave no call open, none charged twice and no client without the answer of its key', async () => {
    const figures = await storm(town, sandbox, { kills: KILLS, webs: 1, workers: 3, clients: 16, seed })
    const recoveries = [...figures.recoveries.chat, ...figures.recoveries.image]
    tell(`${figures.kills} processes killed at ${figures.steps.size} different steps, ${figures.calls} calls, ${figures.answered} answered 200; chats and images taken over after ${spread(recoveries)}; seed ${seed}`)
    expect(Math.max(0, ...recoveries)).to.be.below(LONGEST_RECOVERY_MS)
  }).timeout(120_000)
})
