import { expect } from 'chai'
import { describe, it } from 'mocha'
import { Stop, platformSignal } from '../../src/workers/stop.ts'

describe('ending work early', () => {
  const told: string[] = []
  const stopWith = (...names: string[]): Stop => {
    told.length = 0
    const stop = new Stop()
    for (const name of names) stop.addEventListener('abort', () => told.push(name))
    return stop
  }

  it('tells everybody once, in their order, and keeps the first reason', () => {
    const stop = stopWith('first', 'second')
    expect([stop.aborted, stop.reason]).to.deep.equal([false, undefined])
    const reason = new Error('over')
    stop.abort(reason)
    stop.abort(new Error('again'))
    expect(told).to.deep.equal(['first', 'second'])
    expect([stop.aborted, stop.reason]).to.deep.equal([true, reason])
    expect(() => stop.throwIfAborted()).to.throw(reason)
  })

  it('tells nobody who listens no more, and throws nothing before', () => {
    const stop = stopWith('stays')
    const gone = (): void => void told.push('gone')
    stop.addEventListener('abort', gone)
    stop.removeEventListener('abort', gone)
    stop.throwIfAborted()
    stop.abort(new Error('over'))
    expect(told).to.deep.equal(['stays'])
  })

  it('is a signal of the platform too, whether that is asked for before or after', () => {
    const [before, after, reason] = [new Stop(), new Stop(), new Error('over')]
    const signal = platformSignal(before)
    expect(signal.aborted).to.equal(false)
    before.abort(reason)
    after.abort(reason)
    for (const each of [signal, platformSignal(after)])
      expect([each.aborted, each.reason]).to.deep.equal([true, reason])
    expect(platformSignal(before)).to.equal(signal)
    const { signal: own } = new AbortController()
    expect(platformSignal(own)).to.equal(own)
  })
})
