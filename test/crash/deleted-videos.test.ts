import { expect } from 'chai'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { get, post, send } from '../../scripts/harness/http.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { untilEnded } from '../support/crash.ts'

const FUNDS = 1000
const PRICE = 250

describe('a video that is deleted while a process is killed', function () {
  // Each test starts two processes, one after the other, and waits for the lease of one that was killed.
  this.timeout(150_000)
  let sandbox: Sandbox
  let town: Installation
  let web: Program
  let account: TestAccount
  const workers: Program[] = []
  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.5 })
    town = await install(sandbox)
    web = await town.start('web')
  })
  afterEach(() => expectBooksToBalance(town.db))
  after(async () => {
    await town.end()
    await sandbox.close()
  })
  beforeEach(async () => {
    account = await anAccount(town.db, FUNDS)
  })
  // One that a failed test left running would take the calls of the next.
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.kill())))

  async function startWorker(crashAt = ''): Promise<Program> {
    const worker = await town.start('worker', { crashAt })
    workers.push(worker)
    return worker
  }

  const create = async (prompt: string): Promise<string> =>
    (await post(`${web.url}/v1/videos`, account.key, { model: 'sandbox-video', prompt })).json.id

  /** A deletion, which gets no answer from a process that is killed. */
  const remove = (id: string, url = web.url): Promise<number> =>
    send('DELETE', `${url}/v1/videos/${id}`, { key: account.key }).then(
      ({ status }) => status,
      () => 0,
    )

  /** Expects one end of the call, at this price, and nothing else to be left of its video. */
  async function expectOutcome(id: string, credits: 0 | typeof PRICE): Promise<void> {
    const [call, ...others] = await untilEnded(town.db, account.id)
    expect(others).to.deep.equal([])
    expect(call).to.include({ status: credits === 0 ? 'failed' : 'succeeded', credits })
    expect(await balanceOf(town.db, account.id)).to.equal(FUNDS - credits)
    expect(await town.db('call_results').where({ call_id: call!.id })).to.deep.equal([])
    expect((await get(`${web.url}/v1/videos/${id}`, account.key)).status).to.equal(404)
    await until('its file is removed', async () => {
      const row = (await town.db('calls').where({ id: call!.id }).first('result_url')) as { result_url: string | null }
      return row.result_url === null
    })
  }

  it('is refunded and never sent where its web process is killed before a worker has begun it', async () => {
    const dying = await town.start('web', { crashAt: 'call.deleted' })
    const prompt = prompted()
    const id = await create(prompt)
    expect(await remove(id, dying.url)).to.equal(0)
    await startWorker()
    await expectOutcome(id, 0)
    expect(sandbox.billed(prompt).total).to.equal(0)
  })

  it('is cancelled and paid where its web process is killed while its upstream has it', async () => {
    const dying = await town.start('web', { crashAt: 'call.deleted' })
    await startWorker()
    const prompt = prompted('[stuck]')
    const id = await create(prompt)
    await until('it is sent', () => sandbox.billed(prompt).total === 1)
    expect(await remove(id, dying.url)).to.equal(0)
    await expectOutcome(id, PRICE)
    expect(sandbox.billed(prompt).entries[0]!.outcome).to.equal('cancelled')
  })

  // At its other steps, workers are killed in schedules (schedules.test.ts) and under load (kills.test.ts).
  it('is paid once where its worker is killed after it asked the upstream to stop, and another goes on', async () => {
    const dying = await startWorker('task.cancelled')
    const prompt = prompted('[stuck]')
    const id = await create(prompt)
    await until('it is sent', () => sandbox.billed(prompt).total === 1)
    const removed = remove(id)
    await dying.ended
    await startWorker()
    expect(await removed).to.equal(200)
    await expectOutcome(id, PRICE)
    expect(sandbox.billed(prompt).total).to.equal(1)
  })
})
