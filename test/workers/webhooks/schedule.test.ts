import { expect } from 'chai'
import { SCHEDULE, retryAfterMsOf } from '../../../src/workers/webhooks/schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PAUSES = [5000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]

describe('the schedule of webhooks', () => {
  it('is 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 hours, each within 20 %, and then gives up', () => {
    for (let time = 0; time < 100; time += 1) {
      PAUSES.forEach((pause, at) => expect(SCHEDULE.pauseMs(at + 1, 0)).to.be.within(pause * 0.8, pause * 1.2))
    }
    expect(SCHEDULE.pauseMs(PAUSES.length + 1, 0)).to.equal(null)
  })

  it('moves each pause at random, so that what failed together does not come back together', () => {
    for (let tries = 1; tries <= PAUSES.length; tries += 1) {
      const pauses = Array.from({ length: 100 }, () => SCHEDULE.pauseMs(tries, 0)! / PAUSES[tries - 1]!)
      expect(Math.min(...pauses), `after try ${tries}`).to.be.below(0.95)
      expect(Math.max(...pauses), `after try ${tries}`).to.be.above(1.05)
    }
  })

  it('obeys Retry-After up to an hour, and never tries earlier than by itself', () => {
    expect(SCHEDULE.pauseMs(1, 60_000)).to.equal(60_000)
    expect(SCHEDULE.pauseMs(1, 5 * HOUR)).to.equal(HOUR)
    expect(SCHEDULE.pauseMs(4, 1000)).to.be.within(1.6 * HOUR, 2.4 * HOUR)
  })

  it('reads Retry-After as seconds or as a date, and nothing else', () => {
    const now = Date.UTC(2030, 0, 1)
    expect(retryAfterMsOf('120', now)).to.equal(120_000)
    expect(retryAfterMsOf('Tue, 01 Jan 2030 00:01:00 GMT', now)).to.equal(60_000)
    for (const text of [null, '', 'soon', '-5', '99999999999999999999', 'Tue, 01 Jan 2020 00:00:00 GMT']) {
      expect(retryAfterMsOf(text, now), String(text)).to.equal(0)
    }
  })
})
