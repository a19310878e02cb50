import { expect } from 'chai'
import { describe, it } from 'mocha'
import { Histogram as Known, Registry } from 'prom-client'
import { Histogram } from '../../../src/shared/metrics/histogram.ts'

const DESCRIPTION = {
  name: 'took_seconds',
  help: 'How "long".',
  labelNames: ['stage', 'model'],
  buckets: [0.01, 0.5, 1],
}
const [STAGES, MODELS] = [['charge', 'settle'] as const, ['a', 'b "c"\\'] as const]

/** What telemetry reads: prom-client also names an exemplar, of which there is none. */
const valuesOf = async (registry: Registry): Promise<unknown> =>
  JSON.parse(JSON.stringify(await registry.getMetricsAsJSON()), (name, value: unknown) =>
    name === 'exemplar' ? undefined : value,
  )

describe('a histogram', () => {
  it('is shown as prom-client shows the same values, as text and as JSON', async () => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const histogram = new Histogram(ours, DESCRIPTION)
    const known = new Known({ ...DESCRIPTION, registers: [theirs] })
    expect(await ours.metrics()).to.equal(await theirs.metrics())
    for (let nth = 0; nth < 300; nth++) {
      const labels = { stage: STAGES[nth % 2]!, model: MODELS[nth % 3 === 0 ? 0 : 1]! }
      // Bounds belong to their bucket, and there are values below, between and behind them.
      const value = [0, -1, 0.01, 0.5, 1, 1.0001, 1e6][nth % 7] ?? Math.random()
      histogram.observe(labels, value)
      known.observe(labels, value)
    }
    expect(await ours.metrics()).to.equal(await theirs.metrics())
    expect(await valuesOf(ours)).to.deep.equal(await valuesOf(theirs))
  })

  it('takes numbers only, and its name once', () => {
    const registry = new Registry()
    const histogram = new Histogram(registry, DESCRIPTION)
    const labels = { stage: 'charge', model: 'a' }
    for (const wrong of [Number.NaN, Infinity]) expect(() => histogram.observe(labels, wrong)).to.throw(TypeError)
    expect(() => new Histogram(registry, DESCRIPTION)).to.throw('already been registered')
  })
})
