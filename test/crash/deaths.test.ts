import { expect } from 'chai'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Program } from '../../scripts/harness/installation.ts'
import { useInstallation } from '../support/installed.ts'
import type { FailpointName } from '../../src/shared/platform/process/failpoints.ts'
import { callsOf } from '../support/crash.ts'
import { callOnce, image, video } from './clients.ts'

const FUNDS = 10_000

describe('workers and the calls that could end them', function () {
  // Each test starts three workers, one after the other, and waits for the leases of those that died.
  this.timeout(150_000)
  const town = useInstallation()
  let web: Program
  before(async () => {
    web = await town.start('web')
  })
  // One that a failed test left running would take the calls of the next.
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.kill())))

  const workers: Program[] = []
  /** Launches a worker that is killed at the end of the test at the latest. */
  function launched(settings: Record<string, string> = {}): Program {
    const worker = town.launch('worker', settings)
    workers.push(worker)
    return worker
  }

  const BEGINS: FailpointName[] = ['upstream.sending', 'task.polling']
  const begins = ({ steps }: Program): string[] =>
    steps.map(({ name }) => name).filter((name) => (BEGINS as string[]).includes(name))

  /** How often a worker has begun the call, the one that refunds it too: a death before the begin is a death. */
  const CASES: { title: string; crashAt: FailpointName; ask: { path: string; body: object }; attempts: number }[] = [
    { title: 'an image, before it is begun', crashAt: 'call.beginning', ask: image('ends its worker'), attempts: 1 },
    { title: 'a video with a task', crashAt: 'task.polling', ask: video('ends its worker'), attempts: 3 },
  ]
  /** Expects the worker after two that died to refund the call, and not to try it. */
  async function expectRefunded(
    { id }: TestAccount,
    asked: ReturnType<typeof callOnce>,
    attempts: number,
  ): Promise<void> {
    const third = await launched().up()
    const { status, reply } = await asked
    expect(status, reply?.text).to.equal(500)
    expect(reply!.json.error).to.include({ type: 'internal_error' })
    expect(reply!.json.error.message).to.match(/Two workers failed/)
    expect(begins(third), third.log()).to.deep.equal([])
    const calls = await callsOf(town.db, id)
    expect(calls.map((one) => [one.status, one.attempts])).to.deep.equal([['failed', attempts]])
    expect(await balanceOf(town.db, id)).to.equal(FUNDS)
  }

  for (const { title, crashAt, ask, attempts } of CASES) {
    it(`are refunded at the second death, and never tried a third time: ${title}`, async () => {
      const account = await anAccount(town.db, FUNDS)
      const asked = callOnce(web.url, account.key, ask)
      for (let deaths = 0; deaths < 2; deaths += 1) await launched({ crashAt }).ended
      await expectRefunded(account, asked, attempts)
    })
  }

  it('are not counted as deaths where the workers were asked to stop', async () => {
    const account = await anAccount(town.db, FUNDS)
    const answer = callOnce(web.url, account.key, video('handed over twice [hold]'))
    for (let stops = 0; stops < 2; stops += 1) {
      const worker = await launched().up()
      await worker.reaches('task.polled')
      expect((await worker.stop()).code).to.equal(0)
    }
    await launched().up()
    town.sandbox.release('handed over twice')
    const { status, reply } = await answer
    expect(status, reply?.text).to.equal(200)
  })
})
