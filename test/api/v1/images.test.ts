import { expect } from 'chai'
import { IMAGES, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { get } from '../../../scripts/harness/http.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { addImages, imageModels } from './support/image-models.ts'
import { useGateway, useOneAccount } from '../../support/gateway.ts'

const PNG = /^iVBORw0KGgo/

describe('POST /v1/images/generations, with the fields of OpenAI', () => {
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
})
