import { expect } from 'chai'
import OpenAI, { toFile } from 'openai'
import { prompted, send, useSandbox } from './support/client.ts'
import type { Answer, Fields } from './support/client.ts'
import { decodePng } from './support/png.ts'

const KEY = { authorization: 'Bearer made-up' }

describe('the sandbox as OpenAI images', () => {
  const own = useSandbox()

  function generate(prompt: string, more: Fields = {}): Promise<Answer> {
    const json = { model: 'image-sandbox', prompt, ...more }
    return send(`${own.url}/v1/images/generations`, { json, headers: KEY })
  }

  async function pictured(prompt: string, more: Fields = {}): Promise<ReturnType<typeof decodePng>> {
    return decodePng(Buffer.from((await generate(prompt, more)).json()['data'][0].b64_json, 'base64'))
  }

  it('draws an image that decodes, small by default', async () => {
    expect(await pictured('a cat')).to.include({ width: 256, height: 256 })
  })

  it('draws the requested size, up to 2048 pixels a side', async () => {
    expect(await pictured('a cat', { size: '640x360' })).to.include({ width: 640, height: 360 })
    expect(await pictured('a cat', { resolution: '1K' })).to.include({ width: 1024, height: 1024 })
    expect(await pictured('a cat', { resolution: '720p' })).to.include({ width: 1280, height: 720 })
    expect(await pictured('a cat', { resolution: '1K', aspect_ratio: '16:9' })).to.include({ width: 1024, height: 576 })
    expect(await pictured('a cat', { size: '3840x2160' })).to.include({ width: 2048, height: 1152 })
    expect(await pictured('a cat', { size: 'auto' })).to.include({ width: 256, height: 256 })
  })

  it('derives the colours from the prompt', async () => {
    const [cat, again, dog] = [await pictured('a cat'), await pictured('a cat'), await pictured('a dog')]
    expect(cat.palette.equals(again.palette)).to.equal(true)
    expect(cat.palette.equals(dog.palette)).to.equal(false)
  })

  it('draws n different images', async () => {
    const { data, usage } = (await generate('cats', { n: 3 })).json()
    expect(new Set(data.map((one: Fields) => one['b64_json'])).size).to.equal(3)
    expect(usage.total_tokens).to.equal(usage.input_tokens + usage.output_tokens)
  })

  it('answers with an address on its own origin if the request or the model says so', async () => {
    for (const more of [{ response_format: 'url' }, { model: 'image-url-sandbox' }]) {
      const [image] = (await generate('a cat', more)).json()['data']
      expect(image.url).to.match(new RegExp(`^${own.url}/files/`))
      const file = await send(image.url)
      expect(file.headers['content-type']).to.equal('image/png')
      expect(decodePng(file.bytes).width).to.equal(256)
    }
  })

  it('edits an uploaded image, as an OpenAI SDK sends it', async () => {
    const picture = Buffer.from((await generate('a cat')).json()['data'][0].b64_json, 'base64')
    const sdk = new OpenAI({ apiKey: 'made-up', baseURL: `${own.url}/v1`, maxRetries: 0 })
    const prompt = prompted('make it blue')
    const edited = await sdk.images.edit({
      model: 'image-sandbox',
      prompt,
      image: await toFile(picture, 'cat.png', { type: 'image/png' }),
    })
    expect(decodePng(Buffer.from(edited.data![0]!.b64_json!, 'base64')).width).to.equal(256)
    const [line] = own.sandbox.journal(prompt)
    expect(line?.body).to.deep.include({
      files: [{ field: 'image', name: 'cat.png', type: 'image/png', bytes: picture.length }],
    })
  })

  it('refuses to edit what is not an image, an empty form, and JSON', async () => {
    const form = new FormData()
    form.set('model', 'image-sandbox')
    form.set('prompt', 'x')
    const url = `${own.url}/v1/images/edits`
    expect((await send(url, { body: form, headers: KEY })).json()['error'].param).to.equal('image')
    form.set('image', new Blob(['<svg/>'], { type: 'image/png' }), 'x.png')
    expect((await send(url, { body: form, headers: KEY })).json()['error'].code).to.equal('invalid_image_format')
    expect((await send(url, { json: { model: 'm', prompt: 'x' }, headers: KEY })).status).to.equal(400)
  })

  it('answers without data when asked to', async () => {
    expect((await generate('[empty]')).json()['data']).to.deep.equal([])
  })

  it('returns bytes that are not an image when asked to', async () => {
    const bytes = async (words: string): Promise<Buffer> => {
      return Buffer.from((await generate(words)).json()['data'][0].b64_json, 'base64')
    }
    expect((await bytes('[wrong-type]')).toString()).to.match(/^<svg/)
    const broken = await bytes('[broken-image]')
    expect(broken.toString('latin1', 1, 4)).to.equal('PNG')
    expect(() => decodePng(broken)).to.throw()
  })

  it('names another address as the result when asked to', async () => {
    const url = 'http://169.254.169.254/latest/meta-data'
    expect((await generate(`[result-url ${url}]`)).json()['data']).to.deep.equal([{ url }])
  })
})

describe('files of the sandbox', () => {
  const own = useSandbox()

  async function published(words = ''): Promise<string> {
    const json = { model: 'image-sandbox', prompt: prompted(words), response_format: 'url' }
    return (await send(`${own.url}/v1/images/generations`, { json, headers: KEY })).json()['data'][0].url
  }

  it('are served in the requested ranges', async () => {
    const url = await published()
    const whole = (await send(url)).bytes
    const range = async (range: string): Promise<Answer> => send(url, { headers: { range } })
    const middle = await range('bytes=10-19')
    expect(middle.status).to.equal(206)
    expect(middle.headers['content-range']).to.equal(`bytes 10-19/${whole.length}`)
    expect(middle.bytes.equals(whole.subarray(10, 20))).to.equal(true)
    expect((await range('bytes=-5')).bytes.equals(whole.subarray(-5))).to.equal(true)
    expect((await range(`bytes=${whole.length - 1}-`)).bytes).to.have.length(1)
    expect((await range(`bytes=${whole.length}-`)).status).to.equal(416)
    expect((await range('bytes=9-1')).status).to.equal(200)
    const head = await send(url, { method: 'HEAD' })
    expect(head.headers['content-length']).to.equal(String(whole.length))
  })

  it('are an SVG, mislabelled, a redirect or an error when asked to', async () => {
    expect((await send(await published('[wrong-type]'))).headers['content-type']).to.equal('image/svg+xml')
    const liar = await send(await published('[lying-type]'))
    expect(liar.headers['content-type']).to.equal('image/png')
    expect(liar.text).to.match(/^<svg/)
    const moved = await send(await published('[redirect http://127.0.0.1:1/x]'))
    expect([moved.status, moved.headers['location']]).to.deep.equal([302, 'http://127.0.0.1:1/x'])
    const failing = await published('[content-errors 2 503]')
    const statuses = [await send(failing), await send(failing), await send(failing)].map((answer) => answer.status)
    expect(statuses).to.deep.equal([503, 503, 200])
    expect((await send(`${own.url}/files/none.png`)).status).to.equal(404)
  })

  it('grow by the requested megabytes', async () => {
    const file = await send(await published('[big 3]'))
    expect(file.bytes.length).to.be.above(3 * 1024 * 1024)
    expect(decodePng(file.bytes).width).to.equal(256)
  })
})
