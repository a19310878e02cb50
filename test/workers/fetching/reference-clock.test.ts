import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { ReferenceClock } from '../../../src/workers/fetching/reference-clock.ts'
import { until } from '../../../scripts/harness/until.ts'
import { failed, signal } from './harness.ts'

const PATIENT = { totalMs: 600_000, bytesPerSecond: 16_000, graceMs: 0 }

/** Pieces of a body, one each so many ms, until its reader has enough. */
async function* pieces(bytes: number, everyMs: number): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(bytes)
    await pause(everyMs)
  }
}

/** Reads a body while the clock runs, to the end of the clock or so many bytes. */
const reading = (clock: ReferenceClock, body: AsyncIterable<Uint8Array>, most: number): Promise<number> =>
  clock.during(async () => {
    let bytes = 0
    for await (const piece of clock.watched(body)) {
      clock.signal.throwIfAborted()
      bytes += piece.length
      if (bytes >= most) break
    }
    return bytes
  })

describe('the clock of the images of a call', () => {
  it('ends a body that comes too slowly, and no faster one', async () => {
    const slow = await failed(reading(new ReferenceClock(PATIENT, signal), pieces(1, 50), 1e9))
    expect(slow.problem).to.equal('timeout')
    expect(await reading(new ReferenceClock(PATIENT, signal), pieces(1_000_000, 50), 10_000_000)).to.equal(10_000_000)
  })

  it('stands still while something is waited for that is not for the servers to answer for', async () => {
    const clock = new ReferenceClock({ ...PATIENT, totalMs: 400 }, signal)
    await clock.during(() => clock.paused(() => pause(1200)))
    expect(clock.signal.aborted).to.equal(false)
    await clock.during(() => until('its end', () => clock.signal.aborted))
    clock.close()
  })

  it('ends with its call, for the reason of that', () => {
    const call = new AbortController()
    const clock = new ReferenceClock(PATIENT, call.signal)
    const reason = new Error('the call has ended')
    call.abort(reason)
    expect(clock.signal.reason).to.equal(reason)
  })
})
