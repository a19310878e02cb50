import { expect } from 'chai'
import { get } from '../../../scripts/harness/http.ts'
import { IMAGES, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { imageModels } from './support/image-models.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const PNG = /^iVBORw0KGgo/

describe('POST /v1/images/generations, with the fields of OpenAI', () => {
  const gateway = useGateway({}, (catalogue) => {
    const { sandbox } = catalogue.upstreams as Record<string, { baseUrl: string; apiKeyEnv: string }>
    const origin = new URL(sandbox!.baseUrl).origin
    Object.assign(catalogue.upstreams, {
      linking: { ...sandbox, results: 'link' },
      falling: { ...sandbox, protocol: 'fal', baseUrl: `${origin}/fal` },
    })
    catalogue.models.push(...(imageModels() as never[]))
  })
  let account: Caller
  before(async () => {
    account = await gateway.account(100_000)
  })

  const make = (fields: object, words = '', headers?: Record<string, string>) => {
    const prompt = prompted(words)
    return account
      .post(IMAGES, { model: 'sandbox-image', prompt, ...fields }, headers)
      .then((reply) => ({ reply, prompt }))
  }
  const sentFor = (prompt: string) => gateway.sandbox.journal(prompt)[0]!.body as Record<string, unknown>

  describe('n, size, quality, seed and the others are forwarded, never dropped while charged (E4.3)', () => {
    it('sends what the request names, and nothing that it does not', async () => {
      const fields = {
        n: 2,
        size: '64x96',
        quality: 'high',
        background: 'opaque',
        output_format: 'png',
        output_compression: 80,
        moderation: 'low',
        style: 'vivid',
        seed: 7,
        user: 'ada',
      }
      const { reply, prompt } = await make({ model: 'finished-image', ...fields })
      expect(reply.status, reply.text).to.equal(200)
      expect(sentFor(prompt)).to.deep.equal({ model: 'gpt-image-sandbox', prompt, ...fields })
      const bare = await make({ model: 'finished-image', stream: false, partial_images: 0, n: 1 })
      expect(sentFor(bare.prompt)).to.deep.equal({ model: 'gpt-image-sandbox', prompt: bare.prompt })
    })

    it('passes over an upstream that would leave something out', async () => {
      const { prompt } = await make({ model: 'routed-image', n: 2 })
      expect(sentFor(prompt)).to.include({ model: 'second-sandbox', n: 2 })
      const one = await make({ model: 'routed-image' })
      expect(sentFor(one.prompt)).to.include({ model: 'first-sandbox' })
    })

    it('sends a fidelity that is billed where the operator allows it', async () => {
      const { reply, prompt } = await make({ model: 'faithful-image', input_fidelity: 'high', image_url: PIXEL_URI })
      expect(reply.status, reply.text).to.equal(200)
      expect((sentFor(prompt) as { fields: object }).fields).to.include({ input_fidelity: 'high' })
    })

    it('sends several pictures to be made as a task, under the name that its models have for them', async () => {
      const { reply, prompt } = await make({ model: 'task-image', n: 3, seed: 5 })
      expect(reply.status, reply.text).to.equal(200)
      expect(sentFor(prompt)).to.deep.equal({ prompt, num_images: 3, seed: 5 })
      expect(reply.json.data).to.have.length(3)
      expect(reply.json.usage).to.include({ credits: 48 })
    })
  })

  describe('the price is that of size and quality, times the pictures that are delivered (E4.4)', () => {
    // What is charged for each shape: test/api/v1/media-fields.test.ts.
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
    for (const [fields, words, charge, cost] of PRICED) {
      it(`holds ${charge} and settles ${cost} for ${JSON.stringify(fields)} ${words}`, async () => {
        const { reply } = await make({ model: 'finished-image', ...fields }, words)
        expect(reply.status, reply.text).to.equal(200)
        expect(reply.json.usage).to.include({ credits: cost })
        const record = await gateway.record(reply)
        expect(record).to.include({ credits: cost, creditsPrecharged: charge, pictures: reply.json.data.length })
        expect(await gateway.movements(reply)).to.deep.equal([
          `charge -${charge}`,
          ...(cost === charge ? [] : [`settlement ${charge - cost}`]),
        ])
      })
    }

    it('is nothing where no picture came, or none that can be kept: 502 and a refund', async () => {
      for (const words of ['[empty]', '[broken-image]']) {
        const { reply } = await make({ n: 3 }, words)
        expect(reply.status, words).to.equal(502)
        expect(await gateway.movements(reply)).to.deep.equal(['charge -120', 'refund 120'])
      }
    })

    it('is quoted: what is held, and the least that it may come to', async () => {
      const body = { model: 'finished-image', prompt: 'a fox', n: 2, size: '64x96' }
      const { json } = await account.post('/v1/quotes', { endpoint: IMAGES, body })
      expect(json).to.include({ credits: 100, minimum: 7, maximum: 100 })
    })

    it('is refused where the balance does not pay all of the pictures', async () => {
      const poor = await gateway.account(79)
      const body = { model: 'sandbox-image', prompt: prompted(), n: 2 }
      expect((await poor.post(IMAGES, body)).status).to.equal(402)
      expect(await poor.balance()).to.equal(79)
    })

    it('is listed with sizes, qualities and the length of a prompt', async () => {
      const { data } = (await account.get('/v1/models')).json
      const { prices, ...model } = imageModels()[0]!
      expect(data.find(({ id }: { id: string }) => id === model.id)).to.deep.include({
        credits: 5,
        prices,
        sizes: model.sizes,
        qualities: model.qualities,
        maxPromptLength: 32_000,
        supported_endpoints: ['/v1/images/generations', '/v1/images/edits'],
      })
    })
  })

  describe('the client gets the form that it asked for, whatever its upstream does (E4.2)', () => {
    for (const model of ['finished-image', 'linked-image', 'sandbox-image']) {
      it(`bytes of ${model}, whose upstream is not asked for them`, async () => {
        const { reply, prompt } = await make({ model, n: 2, response_format: 'b64_json' })
        expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
        expect(sentFor(prompt)).not.to.have.property('response_format')
        expect(reply.json.data.map((one: object) => Object.keys(one))).to.deep.equal([['b64_json'], ['b64_json']])
        for (const { b64_json: bytes } of reply.json.data) expect(bytes).to.match(PNG)
        expect(reply.json.data[0].b64_json).not.to.equal(reply.json.data[1].b64_json)
      })

      it(`addresses of ${model}`, async () => {
        const { reply, prompt } = await make({ model, response_format: 'url' })
        expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
        expect(sentFor(prompt)).not.to.have.property('response_format')
        expect(reply.json.data).to.have.length(1)
        expect(reply.json.data[0].url).to.match(/^https?:/)
      })
    }

    it('bytes again for whoever comes back, and the very file that is stored', async () => {
      const headers = { 'Idempotency-Key': prompted() }
      const body = { model: 'sandbox-image', prompt: prompted(), n: 2, response_format: 'b64_json' }
      const first = await account.post(IMAGES, body, headers)
      const again = await account.post(IMAGES, body, headers)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      expect(again.text).to.equal(first.text)
      const fetched = await account.get(`/v1/calls/${publicId('call', callOf(first))}`)
      expect(fetched.text).to.equal(first.text)
      const { resultUrls } = await gateway.record(first)
      const files = await Promise.all(
        resultUrls.map(async (url) => {
          const file = await fetch(new URL(new URL(url).pathname, gateway.url))
          return Buffer.from(await file.arrayBuffer()).toString('base64')
        }),
      )
      expect(first.json.data.map((one: { b64_json: string }) => one.b64_json)).to.deep.equal(files)
    })

    it('no bytes in events, which have addresses', async () => {
      const accept = { Accept: 'text/event-stream' }
      const { reply } = await make({ response_format: 'b64_json' }, '', accept)
      expect([reply.status, reply.json.error.param]).to.deep.equal([400, 'response_format'])
      const events = await make({ n: 2 }, '', accept)
      expect(events.reply.text.match(/"url":/g)).to.have.length(2)
    })
  })

  it('keeps each picture of a call, and names all of them in its record', async () => {
    const { reply } = await make({ n: 3 })
    const urls = reply.json.data.map(({ url }: { url: string }) => url)
    expect(new Set(urls).size).to.equal(3)
    expect(await gateway.record(reply)).to.deep.include({ resultUrl: urls[0], resultUrls: urls, pictures: 3 })
    for (const url of urls) expect((await get(new URL(new URL(url).pathname, gateway.url).href)).status).to.equal(200)
  })
})
