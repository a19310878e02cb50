import { expect } from 'chai'
import fc from 'fast-check'
import { speechKind } from '../../src/api/v1/audio/speech.ts'
import { embeddingKind } from '../../src/api/v1/embeddings.ts'
import { imageKind } from '../../src/api/v1/images/images.ts'
import { moderationKind } from '../../src/api/v1/moderations.ts'
import { rerankKind } from '../../src/api/v1/rerank.ts'
import { videoKind } from '../../src/api/v1/videos/generations.ts'
import { videosKind } from '../../src/api/v1/videos/videos.ts'
import type { Model, Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { ApiError } from '../../src/shared/platform/errors.ts'
import type { Fields } from '../../src/shared/platform/fields.ts'
import type { Modality } from '../../src/shared/terms/kinds.ts'
import type { MediaAdapter, UpstreamContext } from '../../src/workers/upstreams/adapter.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { inSoak, report, seed } from '../crash/scale.ts'
import { PIXEL } from '../support/pixel.ts'
import { useWorld } from '../workers/upstreams/sandbox-upstreams.ts'

/** How many random requests of each kind are made. */
const REQUESTS = inSoak ? 1000 : 100

/** Most of them good: of many fields, one that is bad is enough for a refusal. */
const mostly = (good: unknown[], ...bad: unknown[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })

const optional = <T extends Fields>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Fields>

const HOSTILE = (
  'service_tier extra_body tools n num_images num_outputs num_frames seconds fps size quality length width upscale ' +
  'steps aspect_ratio models store chunking_strategy include priority input_type truncate duration input __proto__'
).split(' ')

const VALUES = JSON.parse(
  '[1, 2, 10, 10.5, 600, -1, 0, null, "8", "10", "flex", "720p", "1080p", "4K", "1920x1080", true, ["a"], {"a": 1}]',
) as unknown[]

/** What a client may try: fields that some upstream or other bills for, or takes for another field. */
const hostile = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom(...HOSTILE), fc.constantFrom(...VALUES), { minKeys: 1, maxKeys: 3 }),
  },
)

const words = fc.string({ unit: fc.constantFrom('a', 'é', '🎺', ' ', '\n', '"'), minLength: 1, maxLength: 300 })

/** A picture to begin with: it has no price of its own. */
const picture = fc.constant(`data:image/png;base64,${PIXEL}`)

/** Reads a body as an endpoint does, and says what it charges. */
type Parse = (body: Fields, model: never) => { request: unknown; charge: number }

/** A kind of call: what may be asked, and what an upstream bills of what it was sent, in credits. */
type Kind = {
  title: string
  modality: Modality
  /** How its endpoints read bodies. */
  parse: Parse[]
  protocols: Protocol[]
  /** Its model in the catalogue: every unit that an upstream bills costs a credit or more. */
  price: object
  more?: object
  asked: fc.Arbitrary<Fields>
  /** The fields of a request with this prompt, which names it in the sandbox's journal. */
  named?: (prompt: string, asked: Fields) => Fields
  /** What an upstream may be sent beside its model, its prompt and a picture. */
  takes: string
  bill: (sent: Fields) => number
  /** The charge is its bill, rounded up; else it may be more. */
  isExact?: true
}

const MEDIA: Protocol[] = ['openai', 'fal', 'replicate', 'openrouter']

const tokens = (text: unknown): number => Math.ceil(Buffer.byteLength(String(text)) / 3)
const texts = optional({ more: fc.oneof(fc.array(words, { maxLength: 4 }), fc.constant([7])) })
const withTexts = (prompt: string, { more = [], ...asked }: Fields): Fields => ({
  input: [prompt, ...(more as string[])],
  ...asked,
})

const KINDS: Kind[] = [
  {
    title: 'embeddings',
    modality: 'embedding',
    parse: [embeddingKind.parse as Parse],
    protocols: ['openai'],
    price: { input: 1, perTokens: 1, minimum: 1 },
    asked: fc
      .tuple(
        texts,
        optional({
          encoding_format: mostly(['float', 'base64', null], 'int8'),
          dimensions: mostly([8, 16, null], 0, 2.5, 1e9),
          user: mostly(['ada'], 7),
        }),
      )
      .map(([more, fields]) => ({ ...more, ...fields })),
    named: withTexts,
    takes: 'input encoding_format dimensions user',
    bill: ({ input }) => (input as string[]).reduce((sum, text) => sum + tokens(text), 0),
  },
  {
    title: 'moderations',
    modality: 'moderation',
    parse: [moderationKind.parse as Parse],
    protocols: ['openai'],
    price: { credits: 2 },
    asked: texts,
    named: withTexts,
    takes: 'input',
    bill: () => 2,
  },
  {
    title: 'rankings',
    modality: 'rerank',
    parse: [rerankKind.parse as Parse],
    protocols: ['openai'],
    price: { perSearch: 7 },
    more: { documentTokens: 100 },
    asked: optional({
      documents: fc.array(
        fc.oneof(
          words,
          words.map((text) => ({ text })),
          fc.constant('x'.repeat(2000)),
        ),
        { minLength: 1, maxLength: 250 },
      ),
      top_n: mostly([1, 5, 1000, null], 0, '3'),
      max_tokens_per_doc: mostly([10, 100_000, null], -1),
      return_documents: mostly([true, false], 'yes'),
    }),
    named: (query, asked) => ({ query, documents: ['a'], ...asked }),
    takes: 'query documents top_n max_tokens_per_doc',
    bill({ query, documents }) {
      const read = (documents as string[]).map((text) => Math.ceil((tokens(query) + tokens(text)) / 100))
      return 7 * Math.ceil(read.reduce((sum, one) => sum + one, 0) / 100)
    },
  },
  {
    title: 'speech',
    modality: 'speech',
    parse: [speechKind.parse as Parse],
    protocols: ['openai'],
    price: { perCharacter: 1 },
    asked: optional({
      more: words,
      instructions: mostly(['slowly', '🎺'.repeat(50), null], 7),
      voice: mostly(['alloy', { id: 'v' }], {}, null),
      response_format: mostly(['mp3', 'wav', null], 'midi'),
      speed: mostly([0.25, 1, 4, null], 0.1, '1'),
      stream_format: mostly(['audio', null], 'sse'),
    }),
    named: (prompt, { more = '', ...asked }) => ({ input: `${prompt} ${String(more)}`, voice: 'alloy', ...asked }),
    takes: 'input voice instructions response_format speed',
    bill: ({ input, instructions = '' }) => Array.from(`${String(input)}${String(instructions)}`).length,
  },
  {
    title: 'videos',
    modality: 'video',
    parse: [videoKind.parse as Parse, videosKind.parse as Parse],
    protocols: MEDIA,
    price: {
      prices: [
        { resolution: '1080p', perSecond: 40 },
        { resolution: '720p', perSecond: 25 },
      ],
    },
    more: { durations: { min: 1, max: 10, default: 4 }, resolutions: ['720p', '1080p', '480p'] },
    asked: optional({
      duration: fc.oneof(
        fc.integer({ min: 10, max: 100 }).map((tenths) => tenths / 10),
        fc.double({ min: 0.5, max: 12, noNaN: true }),
        fc.constantFrom(...VALUES),
      ),
      resolution: mostly(['720p', '1080p', null], '480p', '4K', 7),
      image_url: picture,
    }),
    takes: 'duration seconds resolution size',
    bill({ duration, seconds, resolution, size }) {
      const tenths = Number(duration ?? seconds) * 10
      expect(Math.round(tenths), 'no more than was asked in steps').to.be.closeTo(tenths, 1e-9)
      // In tenths, for 25 × 9.8 is more than 245 in floating point.
      const least = ((/1080/.test(String(resolution ?? size)) ? 40 : 25) * Math.round(tenths)) / 10
      expect(least, 'its upstream was told how long').to.be.above(0)
      return least
    },
    isExact: true,
  },
  {
    title: 'images',
    modality: 'image',
    parse: [imageKind.parse as Parse],
    protocols: MEDIA,
    price: { prices: [{ resolution: '4K', credits: 90 }, { quality: 'low', credits: 25 }, { credits: 60 }] },
    more: { resolutions: ['1K', '2K', '4K'], sizes: ['1536x1024'], qualities: ['low', 'high'] },
    asked: optional({
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
      // Both together are refused: one of them is left out most of the time.
    }).map(({ size, resolution, ...asked }) => ({ ...asked, ...(asked.n === 1 ? { resolution } : { size }) })),
    takes:
      'resolution size image_size quality n num_images num_outputs input_fidelity background output_format seed user',
    bill({ resolution, size, image_size: area, quality, input_fidelity: fidelity = 'low', ...sent }) {
      expect(fidelity, 'no fidelity that is billed').to.equal('low')
      const each = /4K|3840/.test(String(resolution ?? size ?? area)) ? 90 : quality === 'low' ? 25 : 60
      return each * Number(sent.n ?? sent.num_images ?? sent.num_outputs ?? 1)
    },
    isExact: true,
  },
]

/** An adapter that is asked directly, for whatever but images and videos. */
type Ask = (request: unknown, context: UpstreamContext, take: () => Promise<void>) => Promise<unknown>

// Transcriptions, whose files are measured: test/api/v1/audio/transcriptions.test.ts.
describe('the charge of any call that is not a chat', () => {
  const world = useWorld()

  /** What has a price of the fields that an upstream was sent: of a form, an object, or what is in its `input`. */
  function sentOf(prompt: string): Fields {
    const [line, ...more] = world.sandbox.journal(prompt).filter(({ method }) => method === 'POST')
    expect(more, 'sent once').to.deep.equal([])
    const body = line!.body as Fields
    const within = Array.isArray(body.input) || typeof body.input === 'string' ? undefined : body.input
    const { model: _model, prompt: _prompt, ...sent } = (body.fields ?? within ?? body) as Fields
    // Every protocol has a name of its own for the picture.
    return Object.fromEntries(Object.entries(sent).filter(([, one]) => !JSON.stringify(one).includes(PIXEL)))
  }

  /** Sends one. Returns its charge and what its upstream was sent; null where it was refused before any charge. */
  async function play(kind: Kind, parse: Parse, protocol: Protocol, asked: Fields, tried: Fields) {
    const { modality, price, more, named = (prompt, fields) => ({ ...fields, prompt }) } = kind
    const prompt = prompted()
    const context = world.context(protocol, { model: `sandbox/${modality}` })
    const at = [context.route]
    const model = { id: modality, modality, ...price, price, ...more, routes: at, upstreams: at } as unknown as Model
    let read: ReturnType<Parse>
    try {
      read = parse({ ...tried, ...named(prompt, asked), model: modality }, model as never)
    } catch (error) {
      if (error instanceof ApiError) return null
      throw error
    }
    const adapter = world.upstreams.adapterFor(context.route, modality) as Ask | MediaAdapter
    if (typeof adapter === 'function') await adapter(read.request, context, () => Promise.resolve())
    else if (adapter.kind === 'task') await adapter.submit(read.request as never, context)
    else await adapter.generate(read.request as never, context)
    return { charge: read.charge, sent: sentOf(prompt) }
  }

  for (const kind of KINDS) {
    const { title, takes, bill, isExact, parse, protocols, asked } = kind
    it(`is that of all that its upstream is sent, or it is refused before any charge: ${title}`, async () => {
      const counts = { sent: 0, refused: 0 }
      const asking = [fc.constantFrom(...parse), fc.constantFrom(...protocols), asked, hostile] as const
      await fc.assert(
        fc.asyncProperty(...asking, async (...one) => {
          const played = await play(kind, ...one)
          counts[played ? 'sent' : 'refused']++
          if (!played) return
          expect(takes.split(' '), 'nothing that was not priced').to.include.members(Object.keys(played.sent))
          const least = bill(played.sent)
          expect(played.charge).to.be.at.least(least)
          if (isExact) expect(played.charge).to.be.below(least + 1)
        }),
        { numRuns: REQUESTS, seed },
      )
      report(`${REQUESTS} ${title}: ${counts.sent} sent at their price, ${counts.refused} refused; seed ${seed}`)
      // If none were served, or none refused, this would prove little.
      expect(counts.sent).to.be.above(REQUESTS / 10)
      expect(counts.refused).to.be.above(0)
    }).timeout(180_000 + 50 * REQUESTS)
  }
})
