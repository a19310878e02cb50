import { getEventListeners, setMaxListeners } from 'node:events'
import { expect } from 'chai'
import { unlessStopped } from '../../src/api/v1/answer.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { until } from '../../scripts/until.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { FUNDS, aFundedAccount, ask, everyProtocol } from './support/targets.ts'

describe('waiting for an answer or the end of the process', () => {
  const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

  it('leaves nothing on the signal of the process, however the wait ends', async () => {
    const { signal } = new AbortController()
    setMaxListeners(0, signal)
    expect(await unlessStopped(signal, Promise.resolve('answer'))).to.equal('answer')
    await unlessStopped(signal, Promise.reject(new Error('lost'))).catch(() => {})
    const waits = Array.from({ length: 100 }, () =>
      unlessStopped(
        signal,
        new Promise((resolve) => {
          setImmediate(resolve)
        }),
      ),
    )
    expect(listeners(signal)).to.equal(100)
    await Promise.all(waits)
    expect(listeners(signal)).to.equal(0)
  })

  it('ends with null when the process stops, or has stopped', async () => {
    const process = new AbortController()
    const waiting = unlessStopped(process.signal, new Promise(() => {}))
    process.abort()
    expect(await waiting).to.equal(null)
    expect(await unlessStopped(process.signal, new Promise(() => {}))).to.equal(null)
    expect(listeners(process.signal)).to.equal(0)
  })
})

describe('a chat stream that waits for a worker', () => {
  it('is refunded when its client disconnects, and never reaches an upstream', async () => {
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
    await gateway.startWorker()
    expect((await ask(gateway, account, { protocol: 'openai', modality: 'chat' }, prompted())).status).to.equal(200)
    expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
    await expectBooksToBalance(gateway.db)
    await gateway.stop()
  })
})
