import { expect } from 'chai'
import { imageKind } from '../../../src/api/v1/images/images.ts'
import { videoKind } from '../../../src/api/v1/videos/generations.ts'
import { videosKind } from '../../../src/api/v1/videos/videos.ts'
import type { MediaModel } from '../../../src/shared/catalogue/catalogue.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { imageModels } from './support/image-models.ts'
import { OK, modelsWith, verdict } from './support/parsing.ts'
import { pricedModels } from './support/priced-models.ts'

const RESOLUTIONS = ['1K', '720p', '1024x1024', '16:9', 'a-b', 'x'.repeat(32)]

const MODELS = modelsWith(({ upstreams, models }) => {
  const served = [{ upstream: 'sandbox', model: 'image-sandbox' }]
  Object.assign(upstreams, { linking: upstreams.sandbox, falling: { ...upstreams.sandbox, protocol: 'fal' } })
  models.push(
    ...imageModels(),
    ...pricedModels(),
    { id: 'odd-image', modality: 'image', credits: 1, resolutions: RESOLUTIONS, upstreams: served },
    { id: 'long-video', modality: 'video', credits: 1, durations: { min: 0.1, max: 600 }, upstreams: served },
  )
})

const KINDS = { image: imageKind, video: videoKind, openai: videosKind }
type Kind = keyof typeof KINDS
type Fields = Record<string, unknown>

/** What is asked of a model, and what it is charged. @throws ApiError */
const parse = (kind: Kind, fields: Fields) => {
  const body = { model: kind === 'image' ? 'sandbox-image' : 'sandbox-video', prompt: 'a tree', ...fields }
  return KINDS[kind].parse(body, MODELS.get(body.model) as MediaModel, {})
}
const verdictOn = (kind: Kind, fields: Fields): string => verdict(() => parse(kind, fields))
const shown = (fields: Fields): string => JSON.stringify(fields).slice(0, 90)

describe('the fields of an image or a video', () => {
  const tooLong = 'invalid_prompt prompt'
  const PROMPTS: [what: string, good: unknown[], bad: unknown[]][] = [
    ['2,000 letters', ['x'.repeat(2000)], ['x'.repeat(2001)]],
    ['2,000 emoji, which are 4,000 UTF-16 units', ['😀'.repeat(2000)], ['😀'.repeat(2001)]],
    ['letters and an emoji', [`${'x'.repeat(1999)}😀`], [`${'x'.repeat(2000)}😀`]],
    ['letters with combining marks, counted as sent', ['e\u0301'.repeat(1000)], ['e\u0301'.repeat(1001)]],
    ['more than white space', ['a\u0001\u202e\u200b\u2028b', 'a\u0000b'], ['', ' \t\n\u00a0\u2003']],
    ['a text', ['a tree'], [null, 5, ['a tree'], { text: 'a tree' }, true, undefined]],
  ]
  for (const [what, good, bad] of PROMPTS)
    it(`are a prompt of ${what}, and not beyond`, () => {
      for (const kind of ['image', 'video', 'openai'] as const) {
        for (const prompt of good) expect(verdictOn(kind, { prompt })).to.equal(OK)
        for (const prompt of bad) expect(verdictOn(kind, { prompt }), JSON.stringify(prompt)).to.equal(tooLong)
      }
    })

  it('have a prompt as long as the model states, and 2,000 characters where it states none', () => {
    const finished = { model: 'finished-image', quality: 'low', size: '64x64' }
    expect(verdictOn('image', { ...finished, prompt: 'é'.repeat(32_000) })).to.equal(OK)
    expect(verdictOn('image', { ...finished, prompt: 'é'.repeat(32_001) })).to.equal(tooLong)
  })

  it('have a resolution of at most 32 letters, digits, x, : and -', () => {
    for (const resolution of [...RESOLUTIONS, undefined, null])
      expect(verdictOn('image', { model: 'odd-image', resolution }), `${resolution}`).to.equal(OK)
    for (const resolution of ['', 'x'.repeat(33), '1024*1024', '1 K', 'ü', '720p\n', 720, true, ['1K'], {}]) {
      const said = JSON.stringify(resolution)
      expect(verdictOn('image', { model: 'odd-image', resolution }), said).to.equal('invalid_request resolution')
      expect(verdictOn('video', { resolution }), said).to.equal('invalid_request resolution')
    }
  })

  it('have a duration of more than 0 and at most 600', () => {
    for (const duration of [0.1, 1, 5.5, 600, undefined, null])
      expect(verdictOn('video', { model: 'long-video', duration }), `${duration}`).to.equal(OK)
    for (const duration of [0, -0, -1, 600.1, 1e308, Infinity, '5', '', true, [5], {}])
      expect(verdictOn('video', { model: 'long-video', duration }), JSON.stringify(duration)).to.equal(
        'invalid_request duration',
      )
  })

  it('have a public http(s) address or a data: image', () => {
    for (const image_url of [PIXEL_URI, 'https://example.com/a.png', null, undefined])
      expect(verdictOn('image', { image_url }), image_url?.slice(0, 30)).to.equal(OK)
    // Every form of an address is tested in test/shared/requests/addresses.test.ts.
    for (const image_url of ['', 'x', 'http://127.1', 'data:text/html;base64,PGI+', 7, ['https://example.com'], {}])
      for (const kind of ['image', 'video'] as const)
        expect(verdictOn(kind, { image_url }), JSON.stringify(image_url)).to.equal('invalid_request image_url')
  })

  it('that are unknown are ignored, and never sent', () => {
    const body = JSON.parse('{"__proto__":{"polluted":true},"toString":1,"steps":50,"user":null,"constructor":{}}')
    expect(JSON.stringify(parse('image', body as Fields).request)).to.equal('{"prompt":"a tree"}')
    expect(({} as { polluted?: boolean }).polluted).to.equal(undefined)
  })

  it('are those of the request, and else the first that the model states', () => {
    const ASKED: [kind: Kind, fields: Fields, sent: Fields][] = [
      ['video', { model: 'sized-video', duration: 8, resolution: '1080p' }, { duration: 8, resolution: '1080p' }],
      ['video', { model: 'sized-video' }, { duration: 4, resolution: '720p' }],
      ['video', { model: 'sized-video', duration: 8 }, { duration: 8, resolution: '720p' }],
      ['video', { model: 'ranged-video' }, { duration: 5 }],
      ['video', { model: 'ranged-video', duration: 12.5 }, { duration: 12.5 }],
      ['video', { duration: 10, resolution: '480p' }, { duration: 10, resolution: '480p' }],
      ['video', {}, {}],
      ['image', { model: 'sized-image' }, { resolution: '16x16' }],
      ['image', { model: 'sized-image', resolution: null }, { resolution: '16x16' }],
      ['image', { resolution: '1K' }, { resolution: '1K' }],
      ['image', { size: '1024x1024' }, { resolution: '1K' }],
      ['image', {}, {}],
      ['openai', { model: 'sized-video', seconds: '8', size: '1280x720' }, { duration: 8, resolution: '720p' }],
      ['openai', { model: 'sized-video', seconds: 8 }, { duration: 8, resolution: '720p' }],
    ]
    for (const [kind, fields, sent] of ASKED)
      expect(parse(kind, fields).request, shown(fields)).to.deep.equal({ prompt: 'a tree', ...sent })
  })

  it('have the price of what is sent', () => {
    const PRICED: [kind: Kind, fields: Fields, charge: number][] = [
      ['video', { model: 'priced-video' }, 100],
      ['video', { model: 'priced-video', duration: 10, resolution: '1080p' }, 400],
      ['video', { model: 'priced-video', duration: 1.1, resolution: '1080p' }, 44],
      ['video', { model: 'listed-video' }, 88],
      ['video', { model: 'listed-video', duration: 4, resolution: '720p' }, 90],
      ['image', { model: 'priced-image' }, 25],
      ['image', { model: 'priced-image', resolution: '4K' }, 90],
      ['image', { model: 'finished-image', quality: 'low', size: '64x96', n: 4 }, 28],
      ['image', { model: 'finished-image', quality: 'low' }, 7],
      ['image', { model: 'finished-image', size: 'auto', quality: 'auto', n: 2 }, 100],
      ['image', { model: 'otherwise-image' }, 30],
      ['openai', { model: 'priced-video', seconds: '8', size: '1920x1080' }, 320],
    ]
    for (const [kind, fields, charge] of PRICED) expect(parse(kind, fields).charge, shown(fields)).to.equal(charge)
  })

  /** What is refused, in JSON: by endpoint, model, the name of a field and words. PIXEL stands for a picture. */
  const REFUSED = `
image  |                | n                  | {"n":0} {"n":11} {"n":"2"} {"n":1.5}
image  | single-image   | n                  | {"n":2}
image  |                | size               | {"size":"64x64","resolution":"1K"} {"size":"auto","resolution":"1K"}
image  |                | size               | {"size":"512x512"} {"size":"huge!"}
image  | finished-image | size               | {"size":"1024x1024"}
image  | gappy-image    | size               | {"size":"64x96"}
image  |                | quality            | {"quality":"high"} {"quality":7}
image  | finished-image | quality            | {"quality":"max"}
image  | finished-image | resolution         | {"resolution":"1K"}
image  |                | resolution         | {"resolution":"2K"} {"resolution":"1024x1024"} | offers 1K
image  | sized-image    | resolution         | {"resolution":"4K"} | 16x16, 1K, 2K
image  |                | background         | {"background":"blue"}
image  |                | output_format      | {"output_format":"svg"}
image  |                | output_compression | {"output_compression":101}
image  |                | moderation         | {"moderation":"none"}
image  |                | response_format    | {"response_format":"file"}
image  |                | stream             | {"stream":true}
image  |                | partial_images     | {"partial_images":2}
image  |                | seed               | {"seed":"x"}
image  | single-image   | seed               | {"seed":1}
image  |                | input_fidelity     | {"input_fidelity":"high","image_url":"PIXEL"}
image  | plain-image    | image_url          | {"image_url":"PIXEL"}
video  |                | duration           | {"duration":10.01} {"duration":600} | at most 10 seconds
video  |                | duration           | {"duration":4.01} | in steps of 0.1
video  | ranged-video   | duration           | {"duration":4.01} {"duration":5.0000000001} | in steps of 0.1
video  | sized-video    | duration           | {"duration":6} | 4 or 8 seconds
video  | ranged-video   | duration           | {"duration":1.9} {"duration":13} | 2 to 12.5 seconds
video  |                | resolution         | {"resolution":"1080p"} {"resolution":"1920x1080"} | 480p, 720p
video  | sized-video    | resolution         | {"resolution":"480p"} | 720p, 1080p
video  | priced-video   | resolution         | {"resolution":"480p"} {"resolution":"480p","duration":2} | no price
openai | sized-video    | seconds            | {"seconds":"5"}
openai |                | seconds            | {"seconds":"eight"} {"seconds":"0"} {"seconds":"4","duration":4}
openai | sized-video    | size               | {"size":"720x1280"} {"size":"720x720"}
openai |                | size               | {"size":"large"} {"size":"1280x720","resolution":"720p"}
openai |                | input_reference.image_url | {"input_reference":{"image_url":"http://10.0.0.1/"}}
openai |                | input_reference.image_url | {"input_reference":{"file_id":"file-1"}}
openai |                | input_reference    | {"input_reference":"https://example.com/a.png"}`
  describe('that no upstream would be sent are refused by name, never dropped while charged (E4.3)', () => {
    for (const row of REFUSED.trim().split('\n')) {
      const [kind, model, param, refused, words = ''] = row.split('|').map((cell) => cell.trim()) as [Kind, ...string[]]
      for (const text of refused!.split(/(?<=\}) (?=\{)/))
        it(`${kind} ${model} ${text}`, () => {
          const fields = JSON.parse(text.replace('PIXEL', PIXEL_URI)) as Fields
          const asked = model === '' ? fields : { model, ...fields }
          expect(verdictOn(kind, asked)).to.equal(`invalid_request ${param}`)
          expect(() => parse(kind, asked)).to.throw(words)
        })
    }
  })
})
