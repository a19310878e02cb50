import { expect } from 'chai'
import OpenAI, { BadRequestError, toFile } from 'openai'
import { drawPng } from '../../../sandbox/media/png.ts'
import { prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'
import { imageModels } from './support/image-models.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const EDITS = '/v1/images/edits'

describe("POST /v1/images/edits, and images by OpenAI's own SDK", () => {
  const gateway = useGateway({}, (catalogue) => {
    const { sandbox } = catalogue.upstreams as Record<string, { baseUrl: string }>
    const baseUrl = `${new URL(sandbox!.baseUrl).origin}/fal`
    Object.assign(catalogue.upstreams, { linking: sandbox, falling: { ...sandbox, protocol: 'fal', baseUrl } })
    catalogue.models.push(...(imageModels() as never[]))
  })
  let account: Caller
  let small: Buffer
  let wide: Buffer
  before(async () => {
    account = await gateway.account(100_000)
    small = await drawPng({ width: 16, height: 16 }, 'small')
    wide = await drawPng({ width: 32, height: 16 }, 'wide')
  })
  afterEach(async () => {
    await until('uploads are removed', async () => (await gateway.db('uploads').count().first())!.count === 0)
  })

  const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
  const png = (bytes: Buffer, name = 'a.png') => toFile(bytes, name, { type: 'image/png' })

  type Sent = { fields: Record<string, unknown>; files: { field: string; name: string; type: string; bytes: number }[] }
  const sentFor = (prompt: string) => {
    const line = gateway.sandbox.journal(prompt)[0]!
    return { path: line.path, ...(line.body as Sent) }
  }

  async function send(form: FormData, headers: Record<string, string> = {}) {
    const authorization = `Bearer ${account.key}`
    const response = await fetch(`${gateway.url}${EDITS}`, {
      method: 'POST',
      headers: { authorization, ...headers },
      body: form,
    })
    return { status: response.status, json: JSON.parse(await response.text()) }
  }

  function formOf(fields: Record<string, string>, ...files: [field: string, bytes: Buffer, type?: string][]): FormData {
    const form = new FormData()
    for (const [name, value] of Object.entries({ model: 'sandbox-image', ...fields })) form.append(name, value)
    for (const [field, bytes, type = 'image/png'] of files)
      form.append(field, new Blob([new Uint8Array(bytes)], { type }), `${field}.png`)
    return form
  }

  it('images.generate: several pictures, in a size and a quality, with their addresses or their bytes', async () => {
    const made = await client().images.generate({
      model: 'finished-image',
      prompt: prompted(),
      n: 2,
      size: '64x64' as never,
      quality: 'low',
      user: 'ada',
    })
    expect(made.created).to.be.a('number')
    expect(made.data!.map(({ url }) => typeof url)).to.deep.equal(['string', 'string'])
    expect(made.usage).to.include({ credits: 10 })
    const bytes = await client().images.generate({
      model: 'sandbox-image',
      prompt: prompted(),
      response_format: 'b64_json',
    })
    expect(Buffer.from(bytes.data![0]!.b64_json!, 'base64').subarray(1, 4).toString()).to.equal('PNG')
  })

  it('images.edit: one image', async () => {
    const prompt = prompted()
    const edited = await client().images.edit({ model: 'sandbox-image', prompt, image: await png(small) })
    expect(edited.data).to.have.length(1)
    expect(edited.usage).to.include({ credits: 40 })
    const sent = sentFor(prompt)
    expect(sent.path).to.equal(EDITS)
    expect(sent.fields).to.deep.equal({ model: 'image-sandbox', prompt })
    expect(sent.files).to.deep.equal([{ field: 'image', name: 'image-0.png', type: 'image/png', bytes: small.length }])
  })

  it('images.edit: several images and a mask, all in their order, with every other field', async () => {
    const prompt = prompted()
    const edited = await client().images.edit({
      model: 'finished-image',
      prompt,
      image: [await png(small), await png(wide), await png(small)],
      mask: await png(small),
      n: 2,
      size: '64x96' as never,
      quality: 'low',
      background: 'opaque',
      output_compression: 50,
      stream: false,
      response_format: 'b64_json',
    })
    expect(edited.data!.every(({ b64_json: bytes }) => bytes !== undefined)).to.equal(true)
    expect(edited.usage).to.include({ credits: 14 })
    const { fields, files } = sentFor(prompt)
    expect(fields).to.deep.equal({
      model: 'gpt-image-sandbox',
      prompt,
      n: '2',
      size: '64x96',
      quality: 'low',
      background: 'opaque',
      output_compression: '50',
    })
    expect(files.map(({ field, bytes }) => [field, bytes])).to.deep.equal([
      ['image[]', small.length],
      ['image[]', wide.length],
      ['image[]', small.length],
      ['mask', small.length],
    ])
  })

  for (const [what, names] of [
    ['image', ['image', 'image']],
    ['image[]', ['image[]', 'image[]']],
    ['both', ['image', 'image[]']],
  ] as const) {
    it(`parts named ${what}: all reach the upstream in their order (E4.1)`, async () => {
      const prompt = prompted()
      const { status, json } = await send(formOf({ prompt }, [names[0], wide], [names[1], small]))
      expect(status, JSON.stringify(json)).to.equal(200)
      expect(sentFor(prompt).files.map(({ bytes }) => bytes)).to.deep.equal([wide.length, small.length])
    })
  }

  it('pictures have the type of their bytes, whatever their client says', async () => {
    const prompt = prompted()
    await send(formOf({ prompt }, ['image', small, 'application/octet-stream']))
    expect(sentFor(prompt).files[0]).to.include({ type: 'image/png', name: 'image-0.png' })
  })

  it("a mask of another size fails with the upstream's words, refunded (E4.9)", async () => {
    const before = await account.balance()
    const edit = client().images.edit({
      model: 'sandbox-image',
      prompt: prompted(),
      image: await png(small),
      mask: await png(wide),
    })
    const error = await edit.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    expect(error).to.be.an.instanceOf(BadRequestError)
    expect((error as BadRequestError).message).to.include('mask size does not match image size')
    expect(await account.balance()).to.equal(before)
  })

  type Files = Parameters<typeof formOf>[1][]
  const one = (): Files => [['image', small]]
  const REFUSED: [what: string, fields: Record<string, string>, files: () => Files, param: string | null][] = [
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
  for (const [what, fields, files, param] of REFUSED) {
    it(`refuses ${what} before any charge`, async () => {
      const before = await account.counts()
      const { status, json } = await send(formOf({ prompt: 'x', ...fields }, ...files()))
      expect([status, json.error.param], JSON.stringify(json)).to.deep.equal([param === null ? 413 : 400, param])
      const after = await account.counts()
      expect(after).to.include({ charged: before.charged, entries: before.entries })
    })
  }

  it('JSON with an address is an edit too, here and at /v1/images/generations', async () => {
    for (const path of [EDITS, '/v1/images/generations']) {
      const prompt = prompted()
      const body = { model: 'sandbox-image', prompt, image_url: PIXEL_URI, n: 2 }
      const reply = await account.post(path, body)
      expect(reply.json.usage, reply.text).to.include({ credits: 80 })
      expect(sentFor(prompt)).to.include({ path: EDITS })
    }
    const body = { model: 'sandbox-image', prompt: 'x', image_url: PIXEL_URI, n: '2' }
    const reply = await account.post(EDITS, body)
    expect([reply.status, reply.json.error.param]).to.deep.equal([400, 'n'])
  })

  it('JSON with pictures and a mask is an edit of all of them in their order; faults are named', async () => {
    const one = { image_url: PIXEL_URI }
    const other = { image_url: `data:image/png;base64,${wide.toString('base64')}` }
    const pixel = Buffer.from(PIXEL, 'base64').length
    const ask = (prompt: string, fields: object) => account.post(EDITS, { model: 'sandbox-image', prompt, ...fields })
    for (const [fields, files] of [
      [{ images: [one] }, [['image', pixel]]],
      [
        { images: [other, one, other] },
        [
          ['image[]', wide.length],
          ['image[]', pixel],
          ['image[]', wide.length],
        ],
      ],
      [
        { images: [other], mask: other },
        [
          ['image', wide.length],
          ['mask', wide.length],
        ],
      ],
      [
        { ...one, mask: one },
        [
          ['image', pixel],
          ['mask', pixel],
        ],
      ],
    ] as const) {
      const prompt = prompted()
      const reply = await ask(prompt, fields)
      expect(reply.json.usage, reply.text).to.include({ credits: 40 })
      expect(sentFor(prompt).files.map(({ field, bytes }) => [field, bytes])).to.deep.equal(files)
    }
    for (const [fields, param] of [
      [{ images: [one, { image_url: 'http://10.0.0.1/a.png' }] }, 'images[1].image_url'],
      [{ images: Array.from({ length: 17 }, () => one) }, 'images'],
      [{ images: [{ file_id: 'f' }] }, 'images[0].file_id'],
      [{ images: PIXEL_URI }, 'images'],
      [{ images: [{}] }, 'images[0].image_url'],
      [{ ...one, images: [one] }, 'image_url'],
      [{ ...one, mask: { file_id: 'f' } }, 'mask.file_id'],
      [{ mask: one }, 'image_url'],
      [{ images: [one, one], model: 'task-image' }, 'image'],
    ]) {
      const reply = await ask('x', fields as object)
      expect([reply.status, reply.json.error.param], reply.text).to.deep.equal([400, param])
    }
    const prompt = prompted()
    for (const field of ['image', 'images', 'mask']) {
      const body = { model: 'sandbox-image', prompt, [field]: [one] }
      const reply = await account.post('/v1/images/generations', body)
      expect([reply.status, reply.json.error.param], reply.text).to.deep.equal([400, field])
      expect(reply.json.error.message).to.include('/v1/images/edits')
    }
  })

  it('JSON without an address is refused by the name of the address', async () => {
    for (const url of [undefined, null]) {
      const body = { model: 'sandbox-image', prompt: 'x', image_url: url }
      const reply = await account.post(EDITS, body)
      expect([reply.status, reply.json.error.param], reply.text).to.deep.equal([400, 'image_url'])
    }
  })

  it('a picture or a mask in JSON is refused, and not left out while the edit is charged', async () => {
    for (const field of ['image', 'mask']) {
      const body = { model: 'sandbox-image', prompt: 'x', image_url: PIXEL_URI, [field]: 'a.png' }
      const reply = await account.post(EDITS, body)
      expect([reply.status, reply.json.error.param], reply.text).to.deep.equal([400, field])
    }
  })

  it('the same form with the same Idempotency-Key is one call, and another picture is a conflict', async () => {
    const headers = { 'Idempotency-Key': prompted() }
    const prompt = prompted()
    const first = await send(formOf({ prompt }, ['image', small]), headers)
    expect((await send(formOf({ prompt }, ['image', small]), headers)).json).to.deep.equal(first.json)
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect((await send(formOf({ prompt }, ['image', wide]), headers)).status).to.equal(422)
  })

  it('what was uploaded is gone after the call, however it ends', async () => {
    for (const words of ['', '[fail]', '[status 400]', '[pictures 0]'])
      await send(formOf({ prompt: prompted(words) }, ['image', small]))
    await until('uploads are removed', async () => (await gateway.db('uploads').count().first())!.count === 0)
  })
})
