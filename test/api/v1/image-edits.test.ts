import { expect } from 'chai'
import OpenAI, { BadRequestError, toFile } from 'openai'
import { drawPng } from '../../../sandbox/media/png.ts'
import { IMAGES, prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'
import { refusal } from './support/errors.ts'
import { addImages } from './support/image-models.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'

const EDITS = '/v1/images/edits'
const PIXEL_BYTES = Buffer.from(PIXEL, 'base64').length

type Part = [field: string, bytes: Buffer, type?: string]
type Fields = Record<string, unknown>

describe("POST /v1/images/edits, and images by OpenAI's own SDK", () => {
  const gateway = useGateway({}, addImages)
  const account = useOneAccount(gateway, 100_000)
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
  const sentFor = (prompt: string) => {
    const { path, body } = gateway.sandbox.journal(prompt)[0]!
    return { path, ...(body as Sent) }
  }
  const filesOf = (prompt: string) => sentFor(prompt).files.map(({ field, bytes }) => [field, bytes])

  function send(fields: Record<string, string>, files: Part[], headers: Record<string, string> = {}) {
    const form = new FormData()
    for (const [name, value] of Object.entries({ model: 'sandbox-image', ...fields })) form.append(name, value)
    for (const [field, bytes, type = 'image/png'] of files)
      form.append(field, new Blob([new Uint8Array(bytes)], { type }), `${field}.png`)
    return account.post(EDITS, form, headers)
  }

  it('images.generate: several pictures, in a size and a quality, with their addresses or their bytes', async () => {
    const asked = { model: 'finished-image', prompt: prompted(), n: 2, size: '64x64' as never, quality: 'low' as const }
    const made = await client().images.generate({ ...asked, user: 'ada' })
    expect(made.created).to.be.a('number')
    expect(made.data!.map(({ url }) => typeof url)).to.deep.equal(['string', 'string'])
    expect(made.usage).to.include({ credits: 10 })
    const { data } = await client().images.generate({
      model: 'sandbox-image',
      prompt: 'x',
      response_format: 'b64_json',
    })
    expect(Buffer.from(data![0]!.b64_json!, 'base64').subarray(1, 4).toString()).to.equal('PNG')
  })

  it('images.edit: one image', async () => {
    const prompt = prompted()
    const edited = await client().images.edit({ model: 'sandbox-image', prompt, image: await png(small) })
    expect(edited.data).to.have.length(1)
    expect(edited.usage).to.include({ credits: 40 })
    expect(sentFor(prompt)).to.deep.include({
      path: EDITS,
      fields: { model: 'image-sandbox', prompt },
      files: [{ field: 'image', name: 'image-0.png', type: 'image/png', bytes: small.length }],
    })
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
    expect(sentFor(prompt).fields).to.deep.equal(fields)
    const images = [small, wide, small].map(({ length }) => ['image[]', length])
    expect(filesOf(prompt)).to.deep.equal([...images, ['mask', small.length]])
  })

  for (const names of [
    ['image', 'image'],
    ['image[]', 'image[]'],
    ['image', 'image[]'],
  ] as const)
    it(`parts named ${names.join()} reach the upstream in their order, as what they are (E4.1)`, async () => {
      const prompt = prompted()
      const { status, text } = await send({ prompt }, [
        [names[0], wide, 'application/octet-stream'],
        [names[1], small],
      ])
      expect(status, text).to.equal(200)
      expect(sentFor(prompt).files.map(({ bytes, type }) => [bytes, type])).to.deep.equal([
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
    ['a stream', { stream: 'true' }, one, 'stream'],
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
        expect(sentFor(prompt)).to.include({ path: EDITS })
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
