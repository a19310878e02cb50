import { expect } from 'chai'
import fc from 'fast-check'
import { videoKind } from '../../src/api/v1/media.ts'
import type { MediaPrice } from '../../src/shared/calls/pricing.ts'
import type { MediaModel, Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { ApiError } from '../../src/shared/errors.ts'
import type { TaskMediaAdapter } from '../../src/workers/upstreams/adapter.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { inSoak, report, seed } from '../crash/scale.ts'
import { startWorld } from '../workers/upstreams/sandbox-upstreams.ts'
import type { World } from '../workers/upstreams/sandbox-upstreams.ts'

/** How many random requests are made. */
const REQUESTS = inSoak ? 2000 : 120

/** What the upstream bills for a second: 40 of 1080 lines, 25 of all else. */
const PRICES: MediaPrice = {
  prices: [
    { resolution: '1080p', perSecond: 40 },
    { resolution: '720p', perSecond: 25 },
  ],
}

const MODEL = {
  id: 'video',
  modality: 'video',
  durations: { min: 1, max: 10, default: 4 },
  resolutions: ['720p', '1080p', '480p'],
  ...PRICES,
  price: PRICES,
} as unknown as MediaModel

const PROTOCOLS: Protocol[] = ['openai', 'fal', 'replicate', 'openrouter']

/** What a request may be tried to say by another name, at some upstream or other. */
const HOSTILE = ['seconds', 'size', 'n', 'num_frames', 'fps', 'quality', 'length', 'upscale', 'input', '__proto__']

const value = fc.oneof(
  fc.constantFrom<unknown>(
    1,
    10,
    10.5,
    600,
    -1,
    0,
    null,
    '10',
    '720p',
    '1080p',
    '480p',
    '4K',
    '1920x1080',
    true,
    {},
    [],
  ),
  fc.double({ min: 0.5, max: 12, noNaN: true }),
)
const duration = fc.oneof(
  { weight: 3, arbitrary: fc.double({ min: 1, max: 10, noNaN: true }) },
  { weight: 1, arbitrary: value },
)
const resolution = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('720p', '1080p') }, { weight: 1, arbitrary: value })
const bodies = fc
  .tuple(
    fc.record({ duration, resolution }, { requiredKeys: [] }),
    fc.dictionary(fc.constantFrom(...HOSTILE), value, { maxKeys: 3 }),
  )
  .map(([fields, more]) => ({ ...more, ...fields }))

describe('the charge of any video', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())

  /** The fields of what an upstream was sent: a form, an object, or what stands in its `input`. */
  function sentOf(prompt: string): Record<string, unknown> {
    const body = world.sandbox.journal(prompt).find(({ method }) => method === 'POST')!.body as Record<string, unknown>
    return (body.fields ?? body.input ?? body) as Record<string, unknown>
  }

  it('is that of all that its upstream is sent, or the request is refused before any charge', async () => {
    const counts = { sent: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...PROTOCOLS), bodies, async (protocol, fields) => {
        const body = { ...fields, model: 'video', prompt: prompted() }
        let asked: ReturnType<typeof videoKind.parse>
        try {
          asked = videoKind.parse(body, MODEL)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          counts.refused++
          return
        }
        const context = world.context(protocol, { model: 'sandbox/video' })
        const adapter = world.upstreams.mediaAdapterOf(context.route, 'video') as TaskMediaAdapter
        await adapter.submit(asked.request, context)
        counts.sent++
        const sent = sentOf(body.prompt)
        const { model: _model, prompt: _prompt, duration: length, seconds, resolution: tier, size, ...more } = sent
        expect(more, 'nothing that was not priced').to.deep.equal({})
        const bill = (/1080/.test(String(tier ?? size)) ? 40 : 25) * Number(length ?? seconds)
        expect(bill, 'its upstream was told how long').to.be.above(0)
        expect(asked.charge)
          .to.be.at.least(bill)
          .and.to.be.below(bill + 1)
      }),
      { numRuns: REQUESTS, seed },
    )
    report(`${REQUESTS} videos: ${counts.sent} sent at their price, ${counts.refused} refused; seed ${seed}`)
    expect(counts.sent).to.be.above(REQUESTS / 10)
    expect(counts.refused).to.be.above(REQUESTS / 10)
  }).timeout(30_000 + 50 * REQUESTS)
})
