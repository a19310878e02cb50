import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { begin, get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { CHAT, chatBody, image, prompted } from '../../../scripts/harness/calling.ts'
import type { Caller } from '../../support/caller.ts'
import { untilItWaits } from '../../support/lock-waits.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { useInstallation } from '../../support/installed.ts'

/** Longer than the moment within which an equal request without a number is another call, in ms. */
const LATER = 250

const numbered = (count: number): Record<string, string> => ({ 'x-stainless-retry-count': String(count) })
const isReplay = (reply: Reply): boolean => reply.headers.get('idempotent-replayed') === 'true'

// Which calls are joined: test/shared/calls/numbered-retries.test.ts and calls/joined-calls.test.ts.
describe('a request that equals a call which was left unanswered', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 10_000)

  const calls = (by = account) => gateway.db('calls').where({ account_id: by.id })
  const left = async (by = account): Promise<number> => (await calls(by).whereNotNull('abandoned_at')).length
  const ended = (by = account) => until('the end', () => calls(by).where({ status: 'succeeded' }).first())

  /** Sends a chat, and disconnects once the upstream has it and it is a call that somebody waits for. */
  async function leave(content: string, more: object = {}, headers = numbered(0), by = account): Promise<void> {
    const leaving = new AbortController()
    const { signal } = leaving
    const sent = by.send('POST', CHAT, { body: chatBody(content, more), headers, signal }).catch(() => null)
    await until('the upstream to have it', () => gateway.sandbox.open(content).open > 0)
    await until('it to be waited for', async () => (await left(by)) === 0)
    leaving.abort()
    await sent
    await until('the disconnect to be recorded', async () => (await left(by)) === 1)
  }

  // Longer than it takes to cancel it, on any machine.
  const cancelled = prompted('[delay 60000]')
  let leaver: Caller
  before(async () => {
    leaver = await gateway.account(10_000)
    await leave(cancelled, { stream: true }, {}, leaver)
  })

  for (const [what, retry] of [
    ['numbered by an SDK', numbered(1)],
    ['without a number', {}],
  ] as const)
    describe(what, () => {
      const leaveFor = async (content: string): Promise<void> => {
        await leave(content, {}, what === 'without a number' ? {} : numbered(0))
        if (what === 'without a number') await sleep(LATER)
      }

      it('joins it: one charge, one bill', async () => {
        const content = prompted('[hold] [answer at last]')
        await leaveFor(content)
        const joining = account.chat(content, {}, retry)
        await until('the retry to have joined', async () => (await left()) === 0)
        gateway.sandbox.release(content)
        const { status, json, ...reply } = await joining
        expect([status, isReplay(reply as Reply)], reply.text).to.deep.equal([200, true])
        expect(json.choices[0].message.content).to.equal('at last')
        expect(gateway.sandbox.billed(content).total).to.equal(1)
        expect(await account.counts()).to.include({ calls: 1 })
      })

      it('is given the answer that came meanwhile, and once only: the next makes a new call', async () => {
        const content = prompted('[delay 300] [answer at last]')
        await leaveFor(content)
        await ended()
        const joined = await account.chat(content, {}, retry)
        expect([isReplay(joined), joined.json.choices[0].message.content]).to.deep.equal([true, 'at last'])
        expect(isReplay(await account.chat(content, {}, retry))).to.equal(false)
        expect(gateway.sandbox.billed(content).total).to.equal(2)
      })
    })

  it('is another call with another account or body, or where it says so', async () => {
    const content = prompted('[hold]')
    await leave(content)
    const retry = { ...numbered(1), prefer: 'respond-async' }
    const others = await Promise.all([
      (await gateway.account(1000)).chat(content, {}, retry),
      account.chat(content, { temperature: 1 }, retry),
      account.chat(content, {}, { ...retry, 'x-new-call': 'true' }),
    ])
    expect(others.map((reply) => [reply.status, isReplay(reply)])).to.deep.equal(Array(3).fill([202, false]))
    await until('the upstream to have all', () => gateway.sandbox.open(content).open === 4)
    gateway.sandbox.release(content)
    expect(isReplay(await account.chat(content, {}, numbered(1))), 'it can still be joined').to.equal(true)
  })

  it('joins a call whose client disconnected before it was charged', async () => {
    const content = prompted('[delay 300]')
    const leaving = new AbortController()
    await gateway.db.transaction(async (trx) => {
      await trx('accounts').where({ id: account.id }).forUpdate().first('id')
      const options = { body: chatBody(content), headers: numbered(0), signal: leaving.signal }
      const sent = account.send('POST', CHAT, options).catch(() => null)
      await untilItWaits(gateway.db, '%open_calls%')
      leaving.abort()
      await sent
      // The service has noticed the disconnect once it has answered a later request.
      for (let later = 0; later < 3; later++) await get(`${gateway.url}/healthz`)
    })
    await until('the disconnect to be recorded', async () => (await left()) === 1)
    expect(isReplay(await account.chat(content, {}, numbered(1)))).to.equal(true)
    expect(gateway.sandbox.billed(content).total).to.equal(1)
  })

  it('can itself be abandoned, and joined by another', async () => {
    const content = prompted('[hold]')
    await leave(content)
    await leave(content, {}, numbered(1))
    const third = account.chat(content, {}, numbered(2))
    await until('the third to have joined', async () => (await left()) === 0)
    gateway.sandbox.release(content)
    expect(isReplay(await third)).to.equal(true)
    expect(gateway.sandbox.billed(content).total).to.equal(1)
  })

  describe('that was a stream', () => {
    it('joins it where nothing had been delivered, as a stream or whole', () =>
      Promise.all(
        [true, false].map(async (stream) => {
          const by = await gateway.account(10_000)
          const content = prompted('[delay 1500] [answer at last]')
          await leave(content, { stream: true }, numbered(0), by)
          expect(gateway.sandbox.open(content).aborted, 'it goes on').to.equal(0)
          expect(isReplay(await by.chat(content, { stream }, numbered(1)))).to.equal(true)
          expect(gateway.sandbox.billed(content).total).to.equal(1)
        }),
      ))

    it('never joins one that was cancelled because it had delivered something', async () => {
      const content = prompted('[answer one two three four] [hold]')
      const leaving = new AbortController()
      const body = chatBody(content, { stream: true })
      const response = await begin(`${gateway.url}${CHAT}`, account.key, body, { signal: leaving.signal })
      await response.body!.getReader().read()
      leaving.abort()
      await until('the upstream to notice', () => gateway.sandbox.open(content).aborted === 1)
      await ended()
      const again = account.chat(content, {}, numbered(1))
      await until('the upstream to have it', () => gateway.sandbox.release(content) > 0)
      expect(isReplay(await again)).to.equal(false)
    })

    it('finds it cancelled after ten seconds, charged for its input, and is another call then', async () => {
      await until('the upstream to notice', () => gateway.sandbox.open(cancelled).aborted === 1)
      await ended(leaver)
      expect(await leaver.balance()).to.equal(9999)
      const again = await leaver.chat(cancelled, {}, { prefer: 'respond-async' })
      expect([again.status, isReplay(again)]).to.deep.equal([202, false])
      expect(await leaver.counts()).to.include({ calls: 2, charged: 2 })
    }).timeout(120_000)
  })
})

describe('a retry after the web process of its first attempt was killed', () => {
  const own = useInstallation({}, { imageSeconds: 0.05 })
  const account = useAccount(own, 1000)

  it('joins a call that runs, or has ended since, each retry another one', async () => {
    const running = prompted('[delay 1000]')
    const quick = prompted()
    const [survivor, victim] = await Promise.all([startTestWeb(own.config), own.start('web')])
    const sent = [running, running, quick, quick].map((prompt) =>
      image(victim, account, prompt, {}, numbered(0)).catch(() => null),
    )
    await victim.reaches('call.enqueued', 4)
    await victim.kill()
    expect(await Promise.all(sent)).to.deep.equal([null, null, null, null])
    const worker = await startWorker(own.config, createLog('error', 'worker'), 500)
    for (const prompt of [running, quick]) {
      const retries = await Promise.all([1, 2].map(() => image(survivor, account, prompt, {}, numbered(1))))
      for (const reply of retries) expect([reply.status, isReplay(reply)], reply.text).to.deep.equal([200, true])
      expect(new Set(retries.map((reply) => reply.headers.get('x-call-id'))).size).to.equal(2)
      expect(isReplay(await image(survivor, account, prompt, {}, numbered(2)))).to.equal(false)
      expect(own.sandbox.billed(prompt).total).to.equal(3)
      // Its next retries come once it has ended.
      const calls = () => own.db('calls').where({ account_id: account.id, status: 'succeeded' })
      await until('the end of all', async () => (await calls()).length >= 5)
    }
    expect(await account.balance()).to.equal(1000 - 6 * 40)
    await Promise.all([survivor.stop(), worker.stop()])
  })
})
