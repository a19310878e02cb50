import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { unlessStopped } from '../../../../src/api/v1/calls/answer-call.ts'
import { until } from '../../../../scripts/harness/until.ts'

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
