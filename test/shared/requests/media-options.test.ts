import { expect } from 'chai'
import { durationChoices, fitsStep, offersDuration } from '../../../src/shared/requests/media-options.ts'

describe('the durations of a range', () => {
  it('are its first one and whole steps, as decimals and not as floating point', () => {
    const fit: [seconds: number, min: number, step?: number][] = [
      [0.3, 0],
      [4.1, 1],
      [1.1, 1],
      [9.7, 0.4],
      [2.5, 1, 0.5],
      [7, 1, 2],
      [1e-7, 0, 1e-7],
      [0.30000000000000004, 0, 1e-17],
    ]
    for (const [seconds, min, step] of fit)
      expect(fitsStep(seconds, { min, ...(step && { step }) }), `${seconds}`).to.equal(true)
    const not: [seconds: number, min: number, step?: number][] = [
      [4.01, 1],
      [1.0000000001, 1],
      [0.30000000000000004, 0],
      [4.5, 1, 1],
      [2, 1, 2],
      [1.75, 1, 0.5],
    ]
    for (const [seconds, min, step] of not)
      expect(fitsStep(seconds, { min, ...(step && { step }) }), `${seconds}`).to.equal(false)
  })

  it('are up to ten seconds in tenths where a model states none', () => {
    expect([0.1, 4, 9.9, 10].every((seconds) => offersDuration({}, seconds))).to.equal(true)
    expect([0.05, 4.01, 10.1].some((seconds) => offersDuration({}, seconds))).to.equal(false)
  })

  it('that people choose from are all offered, and about a second apart', () => {
    for (const durations of [
      undefined,
      [4, 8],
      { min: 1, max: 10 },
      { min: 2, max: 12.5 },
      { min: 0.5, max: 3.5, step: 0.25 },
      { min: 1, max: 9, step: 2 },
      { min: 5, max: 5 },
    ]) {
      const model = durations === undefined ? {} : { durations }
      const choices = durationChoices(model)
      expect(choices).not.to.deep.equal([])
      for (const one of choices)
        expect(offersDuration(model, one), `${JSON.stringify(durations)} ${one}`).to.equal(true)
    }
    expect(durationChoices({ durations: { min: 2, max: 4.5 } })).to.deep.equal([2, 3, 4])
    expect(durationChoices({ durations: { min: 1, max: 7, step: 2 } })).to.deep.equal([1, 3, 5, 7])
  })
})
