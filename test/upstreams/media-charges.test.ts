import { expect } from 'chai'
import fc from 'fast-check'
import { imageKind } from '../../src/api/v1/images/images.ts'
import { videoKind } from '../../src/api/v1/videos/generations.ts'
import { videosKind } from '../../src/api/v1/videos/videos.ts'
import type { MediaPrice } from '../../src/shared/terms/pricing.ts'
import type { MediaModel, Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { ApiError } from '../../src/shared/platform/errors.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { inSoak, report, seed } from '../crash/scale.ts'
import { PIXEL } from '../support/pixel.ts'
import { useWorld } from '../workers/upstreams/sandbox-upstreams.ts'

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

/** What the upstream bills for an image: 90 for 4K, 25 for what is said to be of low quality, 60 for all else. */
const IMAGE_PRICES: MediaPrice = {
  prices: [{ resolution: '4K', credits: 90 }, { quality: 'low', credits: 25 }, { credits: 60 }],
}

const IMAGE_MODEL = {
  id: 'image',
  modality: 'image',
  resolutions: ['1K', '2K', '4K'],
  sizes: ['1536x1024'],
  qualities: ['low', 'high'],
  ...IMAGE_PRICES,
  price: IMAGE_PRICES,
} as unknown as MediaModel

const PROTOCOLS: Protocol[] = ['openai', 'fal', 'replicate', 'openrouter']

/** What a request may be tried to say by another name, at some upstream or other. */
const HOSTILE = ['seconds', 'size', 'n', 'num_frames', 'fps', 'quality', 'length', 'upscale', 'input', '__proto__']

const VALUES = JSON.parse(
  '[1, 10, 10.5, 600, -1, 0, null, "10", "720p", "1080p", "480p", "4K", "1920x1080", true, {}, []]',
) as unknown[]

const value = fc.oneof(fc.constantFrom(...VALUES), fc.double({ min: 0.5, max: 12, noNaN: true }))
const duration = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 10, max: 100 }).map((tenths) => tenths / 10) },
  { weight: 1, arbitrary: fc.double({ min: 1, max: 10, noNaN: true }) },
  { weight: 1, arbitrary: value },
)
const resolution = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('720p', '1080p', '1K', '4K') },
  { weight: 1, arbitrary: value },
)
/** A picture to begin with: it has no price of its own. */
const picture = fc.constant(`data:image/png;base64,${PIXEL}`)
const bodies = fc
  .tuple(
    fc.record({ duration, resolution, image_url: picture }, { requiredKeys: [] }),
    fc.dictionary(fc.constantFrom(...HOSTILE), value, { maxKeys: 3 }),
  )
  .map(([fields, more]) => ({ ...more, ...fields }))

/** Most of them good: of many fields, one that is bad is enough for a refusal. */
const mostly = (good: unknown[], ...bad: unknown[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })

/** What is asked of pictures: what has a price, what has none at any upstream, and what must not pass. */
const pictures = fc
  .tuple(
    fc.record(
      {
        n: mostly([1, 2, 3, 10, null], 0, 11, 2.5, '2'),
        quality: mostly(['low', 'high', 'auto', null], 'max', 7),
        size: mostly(['1536x1024', 'auto', null], '4096x4096'),
        resolution: mostly(['1K', '4K', null], '8K'),
        background: mostly(['opaque'], 'blue'),
        output_format: mostly(['png', 'jpeg'], 'svg'),
        seed: mostly([0, 7, -1], 'x', 1.5),
        user: fc.constant('ada'),
        input_fidelity: mostly(['low', null], 'high'),
        stream: mostly([false, null], true),
        partial_images: mostly([0, null], 1),
        response_format: fc.constantFrom('url', 'b64_json'),
        image_url: picture,
      },
      { requiredKeys: [] },
    ),
    fc.dictionary(fc.constantFrom('num_images', 'num_outputs', 'steps', 'aspect_ratio', 'upscale', 'width'), value),
  )
  .map(([fields, more]) => {
    const asked: Record<string, unknown> = { ...more, ...fields }
    // Both together are refused: one of them is left out most of the time.
    if (asked.size !== '4096x4096') delete asked[asked.n === 1 ? 'size' : 'resolution']
    return asked
  })

/** Fields that change a picture, and nothing that anybody bills. */
const FREE = ['background', 'output_format', 'seed', 'user']

/** What a request comes to: its charge and what its upstream was sent; null where it was refused before any charge. */
type Played = { charge: number; sent: Record<string, unknown> } | null

describe('the charge of any image or video', () => {
  const world = useWorld()

  /** The fields of what an upstream was sent: a form, an object, or what stands in its `input`. */
  function sentOf(prompt: string): Record<string, unknown> {
    const body = world.sandbox.journal(prompt).find(({ method }) => method === 'POST')!.body as Record<string, unknown>
    return (body.fields ?? body.input ?? body) as Record<string, unknown>
  }

  async function play(
    { modality, parse }: typeof imageKind,
    model: MediaModel,
    protocol: Protocol,
    fields: object,
  ): Promise<Played> {
    const body = { ...fields, model: model.id, prompt: prompted() }
    const context = world.context(protocol, { model: `sandbox/${modality}` })
    let asked: ReturnType<typeof parse>
    try {
      asked = parse(body, { ...model, routes: [context.route] })
    } catch (error) {
      if (error instanceof ApiError) return null
      throw error
    }
    const adapter = world.upstreams.adapterFor(context.route, modality as 'image' | 'video')
    if (adapter.kind === 'task') await adapter.submit(asked.request, context)
    else await adapter.generate(asked.request, context)
    return { charge: asked.charge, sent: sentOf(body.prompt) }
  }

  /** Plays many requests, and gives what was sent, but for what has no price, to be billed. */
  async function playAll(
    kinds: (typeof imageKind)[],
    model: MediaModel,
    asked: fc.Arbitrary<object>,
    bill: (sent: Record<string, unknown>) => { least: number; below: number },
  ): Promise<void> {
    const counts = { sent: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...kinds), fc.constantFrom(...PROTOCOLS), asked, async (kind, ...asking) => {
        const played = await play(kind, model, ...asking)
        counts[played ? 'sent' : 'refused']++
        if (!played) return
        const { model: _model, prompt: _prompt, ...sent } = played.sent
        // Every protocol has a name of its own for the picture.
        const asked = Object.entries(sent).filter(([, one]) => !JSON.stringify(one).includes(PIXEL))
        const { least, below } = bill(Object.fromEntries(asked))
        expect(played.charge).to.be.at.least(least).and.to.be.below(below)
      }),
      { numRuns: REQUESTS, seed },
    )
    report(
      `${REQUESTS} ${model.modality}s: ${counts.sent} sent at their price, ${counts.refused} refused; seed ${seed}`,
    )
    expect(counts.sent).to.be.above(REQUESTS / 10)
    expect(counts.refused).to.be.above(REQUESTS / 10)
  }

  it('is that of all that the upstream of a video is sent, or it is refused before any charge', () =>
    playAll(
      [videoKind, videosKind],
      MODEL,
      bodies,
      ({ duration: length, seconds, resolution: tier, size, ...more }) => {
        expect(more, 'nothing that was not priced').to.deep.equal({})
        const tenths = Number(length ?? seconds) * 10
        expect(Math.round(tenths), 'no more than was asked in steps').to.be.closeTo(tenths, 1e-9)
        // In tenths, for 25 × 9.8 is more than 245 in floating point.
        const least = ((/1080/.test(String(tier ?? size)) ? 40 : 25) * Math.round(tenths)) / 10
        expect(least, 'its upstream was told how long').to.be.above(0)
        return { least, below: least + 1 }
      },
    )).timeout(180_000 + 50 * REQUESTS)

  it('is that of all that the upstream of an image is sent, or it is refused before any charge', () =>
    playAll([imageKind], IMAGE_MODEL, pictures, (sent) => {
      const { resolution: tier, size, image_size: area, quality, n, num_images, num_outputs, ...more } = sent
      const fidelity = more.input_fidelity ?? 'low'
      expect(fidelity, 'no fidelity that is billed').to.equal('low')
      const { input_fidelity: _fidelity, ...others } = more
      expect(FREE, 'nothing that was not priced').to.include.members(Object.keys(others))
      const each = /4K|3840/.test(String(tier ?? size ?? area)) ? 90 : quality === 'low' ? 25 : 60
      const least = each * Number(n ?? num_images ?? num_outputs ?? 1)
      return { least, below: least + 1 }
    })).timeout(180_000 + 50 * REQUESTS)
})
