import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { untilEnded } from '../support/crash.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { chat, statuses, callOnce as ask } from './clients.ts'
import { inSoak, report } from './scale.ts'

/** Calls in progress when both processes are stopped. */
const IN_FLIGHT = 50

describe('an orderly stop', () => {
  let sandbox: Sandbox
  let town: Installation
  let web: Program
  let worker: Program

  before(async () => {
    sandbox = await createSandbox()
    town = await install(sandbox, { CHAT_CONCURRENCY: '60', ACCOUNT_SHARE: '1' })
    ;[web, worker] = await Promise.all([town.start('web'), town.start('worker')])
  })
  after(async () => {
    await town.end()
    await sandbox.close()
  })
  afterEach(() => expectBooksToBalance(town.db))

  it(`answers all ${IN_FLIGHT} calls in progress when both processes are asked to stop`, async () => {
    const account = await anAccount(town.db, 1_000_000)
    // The soak has some that take longer than a stopping process waits: they are answered 202, and continue elsewhere.
    const asked = Array.from({ length: IN_FLIGHT }, (_one, nth) =>
      ask(web.url, account.key, chat(`stopping [delay ${inSoak && nth % 10 === 0 ? 28_000 : 1500}]`)),
    )
    await worker.reaches('upstream.sending', IN_FLIGHT)
    await town.start('worker')
    const startedAt = performance.now()
    const [ends, outcomes] = await Promise.all([Promise.all([web.stop(), worker.stop()]), Promise.all(asked)])
    report(
      `stopped with ${IN_FLIGHT} calls in progress: ${statuses(outcomes)}, ` +
        `gone after ${Math.round(performance.now() - startedAt)} ms`,
    )
    expect(ends.map(({ code }) => code)).to.deep.equal([0, 0])
    expect(
      outcomes.filter(({ status }) => status !== 200 && status !== 202),
      statuses(outcomes),
    ).to.deep.equal([])
    const calls = await untilEnded(town.db, account.id)
    expect(calls.filter(({ status }) => status === 'succeeded').length).to.equal(IN_FLIGHT)
  })
})
