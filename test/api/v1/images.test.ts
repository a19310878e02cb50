import { expect } from 'chai'
import OpenAI, { BadRequestError, toFile } from 'openai'
import { drawPng } from '../../../sandbox/media/png.ts'
import { IMAGES, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'
import { refusal } from './support/errors.ts'
import { addImages, imageModels } from './support/image-models.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'

const PNG = /^iVBORw0KGgo/
const EDITS = '/v1/images/edits'
const PIXEL_BYTES = Buffer.from(PIXEL, 'base64').length

type Part = [field: string, bytes: Buffer, type?: string]
type Fields = Record<string, unknown>

describe('POST /v1/images/generations and /v1/images/edits, with the fields of OpenAI', () => {
  const gateway = useGateway({}, addImages)
  const account = useOneAccount(gateway, 100_000)

  const make = async (fields: object, words = '', headers?: Record<string, string>) => {
    const prompt = prompted(words)
    const reply = await account.post(IMAGES, { model: 'sandbox-image', prompt, ...fields }, headers)
    return { reply, prompt }
  }
  const sentFor = (prompt: string) => gateway.sandbox.journal(prompt)[0]!.body as Record<string, unknown>
  /** Where this test's own port serves a file. */
  const local = (url: string): URL => new URL(new URL(url).pathname, gateway.url)

  describe('n, size, quality, seed and the others are forwarded, never dropped while charged (E4.3)', () => {
    const LOOK = { size: '64x96', quality: 'high', background: 'opaque', output_format: 'png', output_compression: 80 }
    const ALL = { n: 2, ...LOOK, moderation: 'low', style: 'vivid', seed: 7, user: 'ada' }
    const SENT: [what: string, fields: object, sent: object][] = [
      ['what the request names', { model: 'finished-image', ...ALL }, { model: 'gpt-image-sandbox', ...ALL }],
      [
        'nothing that it does not name',
        { model: 'finished-image', stream: false, partial_images: 0, n: 1 },
        { model: 'gpt-image-sandbox' },
      ],
      ['an upstream that leaves nothing out', { model: 'routed-image', n: 2 }, { model: 'second-sandbox', n: 2 }],
      ['the first where nothing would be left out', { model: 'routed-image' }, { model: 'first-sandbox' }],
      ['several of a task, by their name', { model: 'task-image', n: 3, seed: 5 }, { num_images: 3, seed: 5 }],
    ]
    for (const [what, fields, sent] of SENT)
      it(`sends ${what}`, async () => {
        const { reply, prompt } = await make(fields)
        expect(reply.status, reply.text).to.equal(200)
        expect(sentFor(prompt)).to.deep.equal({ prompt, ...sent })
        expect(reply.json.data).to.have.length((fields as { n?: number }).n ?? 1)
        if ('num_images' in sent) expect(reply.json.usage).to.include({ credits: 48 })
      })

    it('sends a fidelity that is billed where the operator allows it', async () => {
      const { reply, prompt } = await make({ model: 'faithful-image', input_fidelity: 'high', image_url: PIXEL_URI })
      expect(reply.status, reply.text).to.equal(200)
      expect((sentFor(prompt) as { fields: object }).fields).to.include({ input_fidelity: 'high' })
    })
  })

  describe('the price is that of size and quality, times the pictures that are delivered (E4.4)', () => {
    // What is charged for each shape: media-fields.test.ts.
    const PRICED: [fields: object, words: string, charge: number, cost: number][] = [
      [{ quality: 'low', size: '64x64', n: 4 }, '[pictures 3]', 20, 15],
      [{ quality: 'low', size: '64x64', n: 2 }, '[pictures 5]', 10, 10],
      // Left to the upstream: the dearest, until it says what came.
      [{}, '[quality high]', 50, 50],
      [{ size: '64x64', n: 3 }, '[quality low] [pictures 2]', 150, 10],
      [{ size: '64x64' }, '[quality unheard-of]', 50, 50],
      [{ model: 'otherwise-image' }, '[quality unheard-of]', 30, 30],
      [{ model: 'otherwise-image' }, '[quality low]', 30, 3],
    ]
    for (const [fields, words, charge, cost] of PRICED)
      it(`holds ${charge} and settles ${cost} for ${JSON.stringify(fields)} ${words}`, async () => {
        const { reply } = await make({ model: 'finished-image', ...fields }, words)
        expect(reply.status, reply.text).to.equal(200)
        expect(reply.json.usage).to.include({ credits: cost })
        const pictures = reply.json.data.length as number
        expect(await gateway.record(reply)).to.include({ credits: cost, creditsPrecharged: charge, pictures })
        const settled = cost === charge ? [] : [`settlement ${charge - cost}`]
        expect(await gateway.movements(reply)).to.deep.equal([`charge -${charge}`, ...settled])
      })

    it('is nothing where no picture came, or none that can be kept: 502 and a refund', async () => {
      for (const words of ['[empty]', '[broken-image]']) {
        const { reply } = await make({ n: 3 }, words)
        expect(reply.status, words).to.equal(502)
        expect(await gateway.movements(reply)).to.deep.equal(['charge -120', 'refund 120'])
      }
    })

    it('is quoted, listed with sizes and qualities, and refused where the balance does not pay all', async () => {
      const body = { model: 'finished-image', prompt: 'a fox', n: 2, size: '64x96' }
      const { json } = await account.post('/v1/quotes', { endpoint: IMAGES, body })
      expect(json).to.include({ credits: 100, minimum: 7, maximum: 100 })
      const { prices, sizes, qualities } = imageModels()[0]!
      const listed = { credits: 5, prices, sizes, qualities, maxPromptLength: 32_000 }
      const supported_endpoints = ['/v1/images/generations', '/v1/images/edits']
      const shown = (await account.get('/v1/models/finished-image')).json
      expect(shown).to.deep.include({ ...listed, supported_endpoints })
      const poor = await gateway.account(79)
      expect((await poor.image(prompted(), { n: 2 })).status).to.equal(402)
      expect(await poor.balance()).to.equal(79)
    })
  })

  describe('the client gets the form that it asked for, whatever its upstream does (E4.2)', () => {
    for (const model of ['finished-image', 'linked-image', 'sandbox-image'])
      it(`bytes or addresses of ${model}, whose upstream is not asked for them`, async () => {
        const { reply, prompt } = await make({ model, n: 2, response_format: 'b64_json' })
        expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
        const made = reply.json.data as { b64_json: string }[]
        expect(made.map((one) => Object.keys(one).join())).to.deep.equal(['b64_json', 'b64_json'])
        for (const { b64_json: bytes } of made) expect(bytes).to.match(PNG)
        expect(made[0]!.b64_json).not.to.equal(made[1]!.b64_json)
        const linked = await make({ model, response_format: 'url' })
        expect(linked.reply.json.data).to.have.length(1)
        expect(linked.reply.json.data[0].url).to.match(/^https?:/)
        for (const one of [prompt, linked.prompt]) expect(sentFor(one)).not.to.have.property('response_format')
      })

    it('bytes again for whoever comes back: the very files that are stored, of which each is recorded', async () => {
      const headers = { 'Idempotency-Key': prompted() }
      const body = { model: 'sandbox-image', prompt: prompted(), n: 3, response_format: 'b64_json' }
      const first = await account.post(IMAGES, body, headers)
      const again = await account.post(IMAGES, body, headers)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      const fetched = await account.get(`/v1/calls/${publicId('call', callOf(first))}`)
      for (const { text } of [again, fetched]) expect(text).to.equal(first.text)
      const { resultUrl, resultUrls, pictures } = await gateway.record(first)
      expect([resultUrl, new Set(resultUrls).size, pictures]).to.deep.equal([resultUrls[0], 3, 3])
      const files = await Promise.all(
        resultUrls.map(async (url) => Buffer.from(await (await fetch(local(url))).arrayBuffer()).toString('base64')),
      )
      expect(first.json.data.map((one: { b64_json: string }) => one.b64_json)).to.deep.equal(files)
    })

    it('no bytes in events, which have addresses', async () => {
      const accept = { Accept: 'text/event-stream' }
      const { reply } = await make({ response_format: 'b64_json' }, '', accept)
      expect([reply.status, reply.json.error.param]).to.deep.equal([400, 'response_format'])
      const urls = [...(await make({ n: 2 }, '', accept)).reply.text.matchAll(/"url":"([^"]*)"/g)].map(
        ([, url]) => url!,
      )
      expect(urls).to.have.length(2)
      for (const url of urls) expect((await get(local(url).href)).status).to.equal(200)
    })
  })

  describe('edits, with a form or with addresses', () => {
    let small: Buffer
    let wide: Buffer
    before(async () => {
      small = await drawPng({ width: 16, height: 16 }, 'small')
      wide = await drawPng({ width: 32, height: 16 }, 'wide')
    })
    afterEach(async () => {
      await until('uploads are removed', async () => (await gateway.db('uploads').count().first())!.count === 0)
    })

    const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
    const png = (bytes: Buffer) => toFile(bytes, 'a.png', { type: 'image/png' })

    type Sent = { fields: Fields; files: { field: string; name: string; type: string; bytes: number }[] }
    const formFor = (prompt: string) => {
      const { path, body } = gateway.sandbox.journal(prompt)[0]!
      return { path, ...(body as Sent) }
    }
    const filesOf = (prompt: string) => formFor(prompt).files.map(({ field, bytes }) => [field, bytes])

    function send(fields: Record<string, string>, files: Part[], headers: Record<string, string> = {}) {
      const form = new FormData()
      for (const [name, value] of Object.entries({ model: 'sandbox-image', ...fields })) form.append(name, value)
      for (const [field, bytes, type = 'image/png'] of files)
        form.append(field, new Blob([new Uint8Array(bytes)], { type }), `${field}.png`)
      return account.post(EDITS, form, headers)
    }

    it('images.generate: several pictures, in a size and a quality', async () => {
      const asked = {
        model: 'finished-image',
        prompt: prompted(),
        n: 2,
        size: '64x64' as never,
        quality: 'low' as const,
      }
      const made = await client().images.generate({ ...asked, user: 'ada' })
      expect(made.created).to.be.a('number')
      expect(made.data!.map(({ url }) => typeof url)).to.deep.equal(['string', 'string'])
      expect(made.usage).to.include({ credits: 10 })
    })

    it('images.edit: several images and a mask, all in their order, with every other field', async () => {
      const prompt = prompted()
      const sent = { size: '64x96' as never, quality: 'low' as const, background: 'opaque' as const }
      const asked = { model: 'finished-image', prompt, ...sent, n: 2, output_compression: 50 }
      const edited = await client().images.edit({
        ...asked,
        image: [await png(small), await png(wide), await png(small)],
        mask: await png(small),
        stream: false,
        response_format: 'b64_json',
      })
      expect(edited.data!.every(({ b64_json: bytes }) => bytes !== undefined)).to.equal(true)
      expect(edited.usage).to.include({ credits: 14 })
      const fields = { model: 'gpt-image-sandbox', prompt, ...sent, n: '2', output_compression: '50' }
      expect(formFor(prompt).fields).to.deep.equal(fields)
      const images = [small, wide, small].map(({ length }) => ['image[]', length])
      expect(filesOf(prompt)).to.deep.equal([...images, ['mask', small.length]])
    })

    it('parts of both names reach the upstream in their order, as what they are (E4.1)', async () => {
      const prompt = prompted()
      const { status, text } = await send({ prompt }, [
        ['image', wide, 'application/octet-stream'],
        ['image[]', small],
      ])
      expect(status, text).to.equal(200)
      expect(formFor(prompt).files.map(({ bytes, type }) => [bytes, type])).to.deep.equal([
        [wide.length, 'image/png'],
        [small.length, 'image/png'],
      ])
    })

    it("a mask of another size fails with the upstream's words, refunded (E4.9)", async () => {
      const before = await account.balance()
      const [image, mask] = [await png(small), await png(wide)]
      const edit = client().images.edit({ model: 'sandbox-image', prompt: prompted(), image, mask })
      expect((await refusal(edit, BadRequestError)).message).to.include('mask size does not match image size')
      expect(await account.balance()).to.equal(before)
    })

    const one = (): Part[] => [['image', small]]
    const REFUSED: [what: string, fields: Record<string, string>, files: () => Part[], param: string | null][] = [
      ['no image', {}, () => [], 'image'],
      ['no prompt', { prompt: '' }, one, 'prompt'],
      ['what is no image', {}, () => [['image', Buffer.from('<svg/>')]], 'image'],
      ['a mask that is no image', {}, () => [...one(), ['mask', Buffer.from('%')]], 'mask'],
      ['an image as a text', { image: PIXEL }, () => [], 'image'],
      ['an address beside files', { image_url: PIXEL_URI }, one, 'image_url'],
      ['a bad number', { n: 'two' }, one, 'n'],
      ['two masks', {}, () => [...one(), ['mask', small], ['mask', small]], 'mask'],
      ['seventeen images', {}, () => Array.from({ length: 17 }, () => one()[0]!), 'image'],
      ['more than 20 MB', {}, () => [['image', Buffer.alloc(20 * 1024 * 1024 + 1)]], null],
      ['an upstream without forms', { model: 'task-image' }, one, 'image'],
      ['a model that edits nothing', { model: 'plain-image' }, one, 'image'],
    ]
    for (const [what, fields, files, param] of REFUSED)
      it(`refuses ${what} before any charge`, async () => {
        const { charged, entries } = await account.counts()
        const { status, json, text } = await send({ prompt: 'x', ...fields }, files())
        expect([status, json.error.param], text).to.deep.equal([param === null ? 413 : 400, param])
        expect(await account.counts()).to.include({ charged, entries })
      })

    describe('in JSON', () => {
      const pixel = { image_url: PIXEL_URI }
      const ask = (fields: object, prompt = 'x', path = EDITS) =>
        account.post(path, { model: 'sandbox-image', prompt, ...fields })

      it('with an address is an edit too, here and at /v1/images/generations', async () => {
        for (const path of [EDITS, IMAGES]) {
          const prompt = prompted()
          const reply = await ask({ ...pixel, n: 2 }, prompt, path)
          expect(reply.json.usage, reply.text).to.include({ credits: 80 })
          expect(formFor(prompt)).to.include({ path: EDITS })
        }
      })

      it('with pictures and a mask is an edit of all of them in their order', async () => {
        const other = { image_url: `data:image/png;base64,${wide.toString('base64')}` }
        const [p, w] = [PIXEL_BYTES, wide.length]
        const EDITED: [fields: object, files: string][] = [
          [{ images: [pixel] }, `image ${p}`],
          [{ images: [other, pixel, other] }, `image[] ${w}, image[] ${p}, image[] ${w}`],
          [{ images: [other], mask: other }, `image ${w}, mask ${w}`],
          [{ ...pixel, mask: pixel }, `image ${p}, mask ${p}`],
        ]
        for (const [fields, files] of EDITED) {
          const prompt = prompted()
          const reply = await ask(fields, prompt)
          expect(reply.json.usage, reply.text).to.include({ credits: 40 })
          const sent = filesOf(prompt).map((file) => file.join(' '))
          expect(sent.join(', ')).to.equal(files)
        }
      })

      const FAULTY: [fields: object, param: string, path?: string][] = [
        [{ ...pixel, n: '2' }, 'n'],
        [{ images: [pixel, { image_url: 'http://10.0.0.1/a.png' }] }, 'images[1].image_url'],
        [{ images: Array.from({ length: 17 }, () => pixel) }, 'images'],
        [{ images: [{ file_id: 'f' }] }, 'images[0].file_id'],
        [{ images: PIXEL_URI }, 'images'],
        [{ images: [{}] }, 'images[0].image_url'],
        [{ ...pixel, images: [pixel] }, 'image_url'],
        [{ ...pixel, mask: { file_id: 'f' } }, 'mask.file_id'],
        [{ mask: pixel }, 'image_url'],
        [{ images: [pixel, pixel], model: 'task-image' }, 'image'],
        [{ image_url: undefined }, 'image_url'],
        [{ image_url: null }, 'image_url'],
        // They would be left out while the edit is charged.
        [{ ...pixel, image: 'a.png' }, 'image'],
        [{ ...pixel, mask: 'a.png' }, 'mask'],
        ...['image', 'images', 'mask'].map((field): [object, string, string] => [{ [field]: [pixel] }, field, IMAGES]),
      ]
      for (const [fields, param, path] of FAULTY)
        it(`is refused by the name of ${param}: ${JSON.stringify(fields).slice(0, 80)} ${path ?? ''}`, async () => {
          const { status, json, text } = await ask(fields, 'x', path)
          expect([status, json.error.param], text).to.deep.equal([400, param])
          if (path) expect(json.error.message).to.include(EDITS)
        })
    })

    it('what was uploaded is gone after the call, however it ends', async () => {
      for (const words of ['', '[fail]', '[status 400]', '[pictures 0]']) await send({ prompt: prompted(words) }, one())
    })
  })
})
