import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { findModel } from '../../../src/shared/catalogue/catalogue.ts'
import type { Catalogue } from '../../../src/shared/catalogue/catalogue.ts'
import { BadCatalogue, faultsOf, privateUpstreams } from '../../../src/shared/catalogue/faults.ts'
import { catalogueWarnings } from '../../../src/shared/catalogue/parse.ts'
import { readCatalogue } from '../../support/catalogue.ts'

const upstreams = {
  one: { protocol: 'openai', baseUrl: 'https://one.example/v1/', apiKeyEnv: 'ONE_KEY' },
  two: { protocol: 'fal', baseUrl: 'http://two.example', apiKeyEnv: 'TWO_KEY' },
  open: { protocol: 'openai', baseUrl: 'http://open.example/v1' },
}
const chat = {
  id: 'chat',
  modality: 'chat',
  pricing: { input: 1, output: 3, perTokens: 1000, minimum: 2 },
  upstreams: [{ upstream: 'one', model: 'gpt' }],
}
const image = {
  id: 'image',
  modality: 'image',
  credits: 40,
  upstreams: [
    { upstream: 'two', model: 'flux' },
    { upstream: 'open', model: 'sd' },
  ],
}
const video = { ...image, id: 'video', modality: 'video' }
const TOP_UP = { currency: 'eur', minMinor: 500, maxMinor: 1000, creditsPer: 100, perMinor: 90 }

const file = (models: unknown[]): object => ({ upstreams, models })

describe('the catalogue', () => {
  let folder: string
  let path: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'catalogue-'))
    path = join(folder, 'models.json')
  })
  after(() => rmSync(folder, { recursive: true }))

  const secretOf = (name: string): string | undefined => ({ ONE_KEY: 'sk-one' })[name]
  const read = (content: object | string): Catalogue => {
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return readCatalogue(path, secretOf)
  }
  const problem = (content: object | string): string => {
    try {
      read(content)
    } catch (error) {
      expect(error).to.be.an.instanceOf(BadCatalogue)
      return (error as Error).message
    }
    throw new Error('the catalogue was taken')
  }

  it('has moderations at a price a call, and rankings at a price a search', () => {
    const at = [{ upstream: 'one', model: 'm' }]
    const moderation = { id: 'judge', modality: 'moderation', credits: 2, upstreams: at }
    const rerank = { id: 'rank', modality: 'rerank', pricing: { perSearch: 3 }, documentTokens: 500, upstreams: at }
    const { models } = read(file([moderation, rerank, { ...moderation, id: 'gratis', credits: 0, free: true }]))
    expect(models.get('judge')!.price).to.deep.equal({ credits: 2 })
    expect(models.get('gratis')!.price).to.deep.equal({ credits: 0 })
    expect(models.get('rank')).to.deep.include({ price: { perSearch: 3 }, documentTokens: 500 })
    const wrong: [object, string][] = [
      [{ ...moderation, credits: 0 }, 'models[0].credits: a price of zero needs "free": true'],
      [{ ...moderation, credits: undefined }, 'models[0].credits: is required'],
      [{ ...moderation, pricing: { perSearch: 1 } }, 'models[0].pricing: is not a known field'],
      [{ ...rerank, pricing: { perSearch: 0 } }, 'models[0].pricing: a price of zero needs "free": true'],
      [{ ...rerank, pricing: { perCall: 1 } }, 'models[0].pricing.perSearch: is required'],
      [{ ...rerank, documentTokens: 99 }, 'models[0].documentTokens: '],
      [{ ...rerank, upstreams: [{ upstream: 'two', model: 'm' }] }, 'the protocol fal does not serve rerank models'],
      [{ ...rerank, upstreams: [{ ...at[0], cost: { perCall: 1 } }] }, 'models[0].upstreams[0].cost.'],
    ]
    for (const [model, fault] of wrong) expect(problem(file([model])), fault).to.include(fault)
    const [fault] = faultsOf(file([{ ...rerank, upstreams: [{ ...at[0], drop: ['documents'] }] }]))
    expect(fault?.message).to.include('"documents" bounds or routes the bill')
  })

  it('keeps the routes with a configured upstream, in order', () => {
    const { models, upstreams: configured } = read(file([chat, image]))
    expect(models.get('image')!.routes.map((route) => [route.upstream.name, route.model])).to.deep.equal([
      ['open', 'sd'],
    ])
    const due = { name: 'one', apiKey: 'sk-one', baseUrl: 'https://one.example/v1', results: 'store' }
    expect(models.get('chat')!.routes[0]!.upstream).to.include(due)
    expect(configured.map((upstream) => [upstream.name, upstream.apiKey])).to.deep.equal([
      ['one', 'sk-one'],
      ['open', null],
    ])
  })

  it('finds a model by its id and modality, never one that is disabled', () => {
    const catalogue = read(file([chat, { ...image, enabled: false }]))
    expect(findModel(catalogue, 'chat', 'chat')!.price).to.deep.equal(chat.pricing)
    expect(findModel(catalogue, 'chat', 'image')).to.equal(null)
    expect(findModel(catalogue, 'image', 'image')).to.equal(null)
    for (const id of ['', 'toString', '__proto__', 'constructor', 'CHAT', ' chat'])
      expect(findModel(catalogue, id, 'chat'), id).to.equal(null)
  })

  it('keeps a model without a configured upstream, to distinguish it from an unknown one', () => {
    const catalogue = read(file([{ ...image, upstreams: [{ upstream: 'two', model: 'flux' }] }]))
    expect(findModel(catalogue, 'image', 'image')!.routes).to.deep.equal([])
  })

  const entry = { upstream: 'one', model: 'gpt' }
  const chats = (more: object) => file([{ ...chat, ...more }])
  const images = (more: object) => file([{ ...image, ...more }])
  const videos = (more: object) => file([{ ...video, ...more }])
  const ofOne = (more: object) => ({ upstreams: { one: { ...upstreams.one, ...more } }, models: [] })
  const BAD: [fault: string, content: object | string, named: RegExp][] = [
    ['no JSON', '{"models": [', /is not JSON/],
    ['no models', { upstreams }, /models:/],
    ['an unknown field of a model', chats({ colour: 'red' }), /models\[0\]\.colour: /],
    ['an unknown field of an upstream', ofOne({ key: 'x' }), /upstreams\.one\.key: /],
    ['an unknown field of an entry', chats({ upstreams: [{ ...entry, rename_: {} }] }), /models\[0\]\.upstreams\[0\]/],
    ['an unknown field at the top', { ...file([chat]), version: 2 }, /version/],
    ['a protocol that nobody speaks', ofOne({ protocol: 'soap' }), /upstreams\.one\.protocol/],
    ['an address that is none', ofOne({ baseUrl: 'ftp://x' }), /upstreams\.one\.baseUrl/],
    ...[{ 'a b': 'x' }, { '': 'x' }].map((headers): [string, object, RegExp] => [
      `a header that has no name: ${JSON.stringify(headers)}`,
      ofOne({ headers }),
      /upstreams\.one\.headers/,
    ]),
    ...['x\ny', 'x\0', '\u20ac'].map((value): [string, object, RegExp] => [
      `a header that cannot be sent: ${JSON.stringify(value)}`,
      ofOne({ headers: { a: value } }),
      /upstreams\.one\.headers\.a/,
    ]),
    ...['minMinor', 'maxMinor', 'creditsPer', 'perMinor'].flatMap((field) =>
      [0, 1.5, '5', 1e20].map((value): [string, object, RegExp] => [
        `free amounts with ${field} ${JSON.stringify(value)}`,
        { ...file([chat]), topUp: { ...TOP_UP, [field]: value } },
        new RegExp(`topUp\\.${field}`),
      ]),
    ),
    ['a modality that there is not', images({ modality: 'smell' }), /models\[0\]\.modality/],
    ['credits that are no integer', images({ credits: 1.5 }), /models\[0\]\.credits/],
    ['negative credits', images({ credits: -1 }), /models\[0\]\.credits/],
    ['credits beyond the bound', images({ credits: 1e13 }), /models\[0\]\.credits/],
    ['credits as text', images({ credits: '40' }), /models\[0\]\.credits/],
    ['a price of no tokens', chats({ pricing: { ...chat.pricing, perTokens: 0 } }), /models\[0\]\.pricing\.perTokens/],
    ['a negative price', chats({ pricing: { ...chat.pricing, input: -1 } }), /models\[0\]\.pricing\.input/],
    ['chat without pricing', chats({ pricing: undefined }), /models\[0\]\.pricing/],
    ['an image with pricing', images({ pricing: chat.pricing }), /models\[0\]/],
    ['an image with durations', images({ durations: [4] }), /models\[0\]\.durations: images have no duration/],
    ...['resolution', 'size', 'quality'].map((field): [string, object, RegExp] => {
      const row = { [field]: { resolution: '8K', size: '9x9', quality: 'best' }[field], credits: 1 }
      const model = { ...image, credits: undefined, prices: [{ credits: 40 }, row] }
      return [`a price of a ${field} that is not offered`, file([model]), new RegExp(`prices\\[1\\]\\.${field}`)]
    }),
    [
      'a cost of a quality that is not offered',
      images({ upstreams: [{ ...image.upstreams[0], cost: { rows: [{ quality: 'best', perCall: 1 }] } }] }),
      /upstreams\[0\]\.cost\.rows\[0\]\.quality/,
    ],
    ['no durations at all', videos({ durations: [] }), /models\[0\]\.durations/],
    ['a duration of nothing', videos({ durations: [0] }), /models\[0\]\.durations/],
    ['a duration beyond ten minutes', videos({ durations: { min: 1, max: 601 } }), /models\[0\]\.durations/],
    ['durations from more to less', videos({ durations: { min: 5, max: 4 } }), /models\[0\]\.durations/],
    [
      'a default duration out of its range',
      videos({ durations: { min: 2, max: 4, default: 5 } }),
      /models\[0\]\.durations/,
    ],
    ...[
      { min: 1, max: 9.95 },
      { min: 1, max: 10, step: 2 },
      { min: 1, max: 9, default: 4, step: 2 },
      { min: 1, max: 9, step: 0 },
    ].map((durations): [string, object, RegExp] => [
      `durations that are no steps: ${JSON.stringify(durations)}`,
      videos({ durations }),
      /models\[0\]\.durations/,
    ]),
    ['an unknown field of durations', videos({ durations: { min: 2, max: 4, unit: 'm' } }), /models\[0\]\.durations/],
    ['durations of a chat', chats({ durations: [4] }), /models\[0\]\.durations: /],
    ['no resolutions at all', images({ resolutions: [] }), /models\[0\]\.resolutions/],
    ['a resolution that nobody may ask for', images({ resolutions: ['1K', '1 K'] }), /models\[0\]\.resolutions\[1\]/],
    ['a model without upstreams', images({ upstreams: [] }), /models\[0\]\.upstreams/],
    [
      'an upstream that is not there',
      chats({ upstreams: [{ upstream: 'three', model: 'x' }] }),
      /models\[0\]\.upstreams\[0\]\.upstream.*three/,
    ],
    ['one id twice', file([chat, { ...image, id: 'chat' }]), /models\[1\]\.id.*chat/],
    ['a context of no tokens', chats({ contextLength: 0 }), /models\[0\]\.contextLength/],
    ['a context that answers do not fit in', chats({ contextLength: 10, maxOutputTokens: 11 }), /contextLength: /],
    ['the context of an image', images({ contextLength: 10 }), /models\[0\]\.contextLength/],
    ['a time-out of nothing', chats({ timeoutSeconds: 0 }), /models\[0\]\.timeoutSeconds/],
  ]
  for (const [fault, content, named] of BAD) {
    it(`refuses ${fault}, and names it by its path`, () => expect(problem(content)).to.match(named))
  }

  it('warns of video models that can be called and state no durations, by name', () => {
    const warnings = catalogueWarnings(
      read(
        file([
          image,
          video,
          { ...video, id: 'told', durations: [4] },
          { ...video, id: 'off', enabled: false },
          { ...video, id: 'unconfigured', upstreams: [{ upstream: 'two', model: 'flux' }] },
        ]),
      ),
    )
    expect(warnings).to.have.length(1)
    expect(warnings[0]).to.match(/^The video model "video" states no durations/)
  })

  it('warns of upstreams in a private network that may fetch images, unless it says who fetches them', () => {
    const warned = (baseUrl: string, fetchImages?: boolean): boolean =>
      privateUpstreams({ one: { baseUrl, fetchImages } }).length > 0
    const inside = ['http://127.0.0.1:11434/v1', 'http://10.1.2.3/v1', 'http://[fd00::1]/', 'http://vllm:8000/v1']
    for (const baseUrl of [...inside, 'https://gpu.internal/v1', 'http://gpu.local', 'http://localhost:1']) {
      const due = [true, false, false]
      expect([warned(baseUrl), warned(baseUrl, true), warned(baseUrl, false)], baseUrl).to.deep.equal(due)
    }
    const due = [false, false]
    expect(['https://api.openai.com/v1', 'https://8.8.8.8/'].map((baseUrl) => warned(baseUrl))).to.deep.equal(due)
    const open = { protocol: 'openai', baseUrl: 'http://vllm:8000/v1' }
    const [warning] = catalogueWarnings(read({ ...file([chat]), upstreams: { ...upstreams, open } }))
    expect(warning).to.match(/^upstreams\.open is in a private network/)
  })

  it('names every fault in one message', () => {
    expect(
      problem(
        file([
          { ...image, credits: -1 },
          { ...chat, pricing: {} },
        ]),
      ),
    ).to.match(/models\[0\]\.credits.*models\[1\]\.pricing\.input/)
  })

  it('names what contradicts itself beside fields that are wrong', () => {
    const priceless = { ...image, credits: undefined, name: 5, more: 1 }
    const free = { ...chat, name: 5, pricing: { input: 0, output: 0, perTokens: 1000, minimum: 0 } }
    const short = { ...chat, id: 'short', name: 5, contextLength: 10, maxOutputTokens: 20 }
    const said = problem({
      ...file([priceless, free, short]),
      topUp: { ...TOP_UP, currency: 5, minMinor: 9, maxMinor: 8 },
    })
    for (const named of [
      'models[0].name: must be a string',
      'models[0].more: is not a known field',
      'models[0].credits: either "credits" or "prices" is required',
      'models[1].pricing: a price of zero needs "free": true',
      'models[2].contextLength: must be at least "maxOutputTokens"',
      'topUp.maxMinor: must be at least minMinor',
    ])
      expect(said).to.include(named)
  })

  it('does not compare fields that are wrong by themselves', () => {
    const odd = { ...chat, contextLength: 'long', maxOutputTokens: 20 }
    expect(problem(file([odd, { ...image, credits: 'x' }, 5, null]))).not.to.match(/maxOutputTokens|required/)
    for (const topUp of [{ ...TOP_UP, perMinor: 0 }, { ...TOP_UP, minMinor: 0.5 }, 'x', null])
      expect(problem({ ...file([]), topUp })).not.to.match(/at least one credit|at least minMinor/)
  })

  it('never shows a key in its messages', () => {
    expect(problem(file([{ ...chat, credits: 1 }]))).not.to.include('sk-one')
  })

  it('reports a missing file', () => {
    expect(() => readCatalogue(join(folder, 'none.json'), secretOf)).to.throw(BadCatalogue, /cannot be read/)
  })

  for (const name of ['models.json', 'models.example.json']) {
    it(`accepts ${name} of this repository, and uses all of it`, () => {
      const { models, refused } = readCatalogue(name, () => 'a key')
      expect(refused).to.deep.equal([])
      expect(models.size).to.be.above(0)
      for (const model of models.values()) expect(model.routes, model.id).not.to.deep.equal([])
    })
  }

  it('takes a range without a step, in tenths of a second', () => {
    const { models } = read(file([{ ...video, durations: { min: 1, max: 10 } }]))
    expect(models.get('video')).to.deep.include({ durations: { min: 1, max: 10, step: 0.1 } })
  })

  it("refuses a variable of its own as that of an upstream's key", () => {
    for (const apiKeyEnv of ['APP_SECRET', 'https_proxy', '__proto__'])
      expect(faultsOf({ upstreams: { one: { ...upstreams.one, apiKeyEnv } }, models: [] })).to.have.nested.property(
        '[0].path',
        'upstreams.one.apiKeyEnv',
      )
  })
})
