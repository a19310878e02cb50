import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { unlessStopped } from '../../src/api/v1/calls/answer-call.ts'
import { testQueues } from '../support/console.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/harness/until.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol } from './support/targets.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

describe('waiting for an answer or the end of the process', () => {
  const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

  it('puts one listener on the signal of the process, and keeps nothing of a wait that has ended', async () => {
    const { signal } = new AbortController()
    await unlessStopped(signal, () => Promise.reject(new Error('lost'))).catch(() => {})
    const kept = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const answer = { text: 'answer' }
        expect(await unlessStopped(signal, () => Promise.resolve(answer))).to.equal(answer)
        return new WeakRef(answer)
      }),
    )
    expect(listeners(signal)).to.equal(1)
    await until('the answers to be forgotten', () => {
      collectGarbage()
      return kept.every((answer) => answer.deref() === undefined)
    })
  })

  it('ends with null when the process stops, or has stopped', async () => {
    const process = new AbortController()
    const waiting = unlessStopped(process.signal, () => new Promise(() => {}))
    process.abort()
    expect(await waiting).to.equal(null)
    expect(await unlessStopped(process.signal, () => new Promise(() => {}))).to.equal(null)
    expect(listeners(process.signal)).to.equal(0)
  })
})

describe('a chat stream that waits for a worker', () => {
  it('is refunded once its client has been gone for 10 s, and never reaches an upstream', async () => {
    const gateway = await startGateway({}, everyProtocol)
    const account = await aFundedAccount(gateway)
    await gateway.stopWorker()
    const prompt = prompted()
    const client = new AbortController()
    const asked = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: client.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${account.key}` },
      body: JSON.stringify({ model: 'openai-chat', stream: true, messages: [{ role: 'user', content: prompt }] }),
    }).catch(() => {})
    await until('the charge', async () => (await balanceOf(gateway.db, account.id)) < FUNDS)
    client.abort()
    await asked
    await until('the refund', async () => (await balanceOf(gateway.db, account.id)) === FUNDS)
    const { queues, stop } = testQueues(gateway.config)
    await until('its job is removed', async () => (await queues.depth('chat')) === 0)
    await stop()
    await gateway.startWorker()
    expect((await ask(gateway, account, { protocol: 'openai', modality: 'chat' }, prompted())).status).to.equal(200)
    expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
  })
})
