import { expect } from 'chai'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import type { Installation, Program } from '../../scripts/harness/installation.ts'
import { install } from '../../scripts/harness/installation.ts'
import type { FailpointName } from '../../src/shared/platform/process/failpoints.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import { until } from '../../scripts/harness/until.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { callsOf } from '../support/crash.ts'
import type { DnsServer } from '../support/dns-server.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { callOnce, chat, image, video } from './clients.ts'

const FUNDS = 10_000

describe('workers and the calls that could end them', function () {
  // Three workers start, one after the other, each after the stall check of the one before.
  this.timeout(150_000)
  let sandbox: Sandbox
  let town: Installation
  let web: Program
  before(async () => {
    sandbox = await createSandbox()
    town = await install(sandbox)
    web = await town.start('web')
  })
  after(async () => {
    await town.end()
    await sandbox.close()
  })
  // One that a failed test left running would take the calls of the next.
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.kill())))
  afterEach(() => expectBooksToBalance(town.db))

  const workers: Program[] = []
  /** Launches a worker that is killed at the end of the test at the latest. */
  function launched(settings: Record<string, string> = {}): Program {
    const worker = town.launch('worker', settings)
    workers.push(worker)
    return worker
  }

  describe('nine host names of one chat whose name server is silent', () => {
    let dns: DnsServer
    before(async () => {
      dns = await startDnsServer((name) => (name.includes('silent-') ? 'silent' : undefined))
    })
    after(() => dns.close())

    it('leave the worker and the calls beside it alone: the chat is 502, refunded', async () => {
      const preload = join(root, 'scripts/harness/name-server-preload.cjs')
      const worker = await launched({
        NODE_OPTIONS: `--require=${JSON.stringify(preload)}`,
        NAME_SERVER: dns.address,
      }).up()
      const [hostile, other] = await Promise.all([anAccount(town.db, FUNDS), anAccount(town.db, FUNDS)])
      const content = Array.from({ length: 9 }, (_one, nth) => ({
        type: 'image_url',
        image_url: { url: `http://silent-${nth}.example.com/a.png` },
      }))
      const attack = callOnce(web.url, hostile.key, {
        path: 'chat/completions',
        body: { model: 'sandbox-chat', max_tokens: 1, messages: [{ role: 'user', content }] },
      })
      await until('the name server to be asked', () => dns.questions.length > 0)
      const beside = callOnce(web.url, other.key, chat('[delay 8000] lives beside it'))
      const { status, reply } = await attack
      expect(status, reply?.text).to.equal(502)
      expect(reply!.json.error.message).to.match(/image_url: The image could not be fetched/)
      expect((await beside).status).to.equal(200)
      expect((await callOnce(web.url, other.key, chat('comes after it'))).status).to.equal(200)
      expect(worker.end, worker.log()).to.equal(null)
      expect(await balanceOf(town.db, hostile.id)).to.equal(FUNDS)
    })
  })

  const BEGINS: FailpointName[] = ['upstream.sending', 'task.polling']
  const begins = ({ steps }: Program): string[] =>
    steps.map(({ name }) => name).filter((name) => (BEGINS as string[]).includes(name))

  /** Expects that a call is refunded unasked. `attempts`: how often it can have been begun, to be refunded too. */
  async function expectGivenUp(account: TestAccount, answer: ReturnType<typeof callOnce>, ...attempts: number[]) {
    const { status, reply } = await answer
    expect(status, reply?.text).to.equal(500)
    expect(reply!.json.error).to.include({ type: 'internal_error' })
    expect(reply!.json.error.message).to.match(/Two workers failed/)
    const calls = await callsOf(town.db, account.id)
    expect(calls.map(({ status: end }) => end)).to.deep.equal(['failed'])
    expect(calls[0]!.attempts).to.be.oneOf(attempts)
    expect(await balanceOf(town.db, account.id)).to.equal(FUNDS)
  }

  it('are refunded at the second death, whatever ended the workers, and not tried again: a chat, a task', async () => {
    const accounts = [await anAccount(town.db, FUNDS), await anAccount(town.db, FUNDS)] as const
    const asked = [chat('[delay 60000] ends its worker'), video('ends its worker [hold]')] as const
    const answers = asked.map((one, nth) => callOnce(web.url, accounts[nth]!.key, one))
    for (let deaths = 0; deaths < 2; deaths += 1) {
      const worker = await launched().up()
      await worker.reaches('task.polled')
      await until('the chat is sent', () => sandbox.billed('[delay 60000] ends').total === deaths + 1)
      await worker.kill()
    }
    const third = await launched().up()
    for (const [nth, answer] of answers.entries()) await expectGivenUp(accounts[nth]!, answer, 2, 3)
    expect(begins(third), third.log()).to.deep.equal([])
  })

  it('are refunded so too where they end their workers before they are begun: an image', async () => {
    const account = await anAccount(town.db, FUNDS)
    const answer = callOnce(web.url, account.key, image('ends its worker'))
    for (let deaths = 0; deaths < 2; deaths += 1) await launched({ crashAt: 'call.beginning' }).ended
    await launched().up()
    await expectGivenUp(account, answer, 1)
  })

  it('are not counted as deaths where the workers were asked to stop', async () => {
    const account = await anAccount(town.db, FUNDS)
    const answer = callOnce(web.url, account.key, video('handed over twice [hold]'))
    for (let stops = 0; stops < 2; stops += 1) {
      const worker = await launched().up()
      await worker.reaches('task.polled')
      expect((await worker.stop()).code).to.equal(0)
    }
    await launched().up()
    sandbox.release('handed over twice')
    const { status, reply } = await answer
    expect(status, reply?.text).to.equal(200)
    expect(reply!.json.usage).to.include({ credits: 250, balance: FUNDS - 250 })
    expect(sandbox.billed('handed over twice').total, 'submissions that were billed').to.equal(1)
  })
})
