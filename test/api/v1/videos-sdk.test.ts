import { expect } from 'chai'
import OpenAI, { APIError, toFile } from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { PIXEL as PIXEL_TEXT, PIXEL_URI } from '../../support/pixel.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { refusal as refusalOf } from './support/errors.ts'

const PIXEL = Buffer.from(PIXEL_TEXT, 'base64')

describe("videos of OpenAI's own SDK", () => {
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
    upstreams.queue = { ...sandbox, protocol: 'fal', baseUrl: baseUrl.replace('/v1', '/fal') }
    const route = { upstream: 'queue', model: 'fal-ai/video-sandbox' }
    models.push({ id: 'queue-video', modality: 'video', credits: 250, upstreams: [route] })
  })
  const account = useAccount(gateway, 10_000)

  const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })

  const untilEnded = (id: string) =>
    until('the video ends', async () => {
      const video = await client().videos.retrieve(id)
      return (video.status === 'completed' || video.status === 'failed') && video
    })

  const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)

  it('are created, retrieved, downloaded, listed and deleted', async () => {
    const prompt = prompted()
    const begun = await client().videos.create({ model: 'sandbox-video', prompt, seconds: '4', size: '1280x720' })
    expect(begun).to.include({ object: 'video', status: 'queued', prompt, seconds: '4', size: '1280x720' })
    expect(await untilEnded(begun.id)).to.include({ id: begun.id, status: 'completed', progress: 100 })
    const content = await client().videos.downloadContent(begun.id)
    expect(content.headers.get('content-type')).to.equal('video/mp4')
    expect((await content.arrayBuffer()).byteLength).to.be.above(100)
    const other = await client().videos.create({ model: 'sandbox-video', prompt: prompted() })
    await untilEnded(other.id)
    const listed: string[] = []
    for await (const video of client().videos.list({ limit: 1 })) listed.push(video.id)
    expect(listed).to.deep.equal([other.id, begun.id])
    expect(await client().videos.delete(begun.id)).to.include({ id: begun.id, object: 'video.deleted', deleted: true })
    expect(await refusal(client().videos.retrieve(begun.id))).to.include({ status: 404, code: 'not_found' })
    expect(await refusal(client().videos.downloadContent(begun.id))).to.include({ status: 404 })
    expect(await account.balance()).to.equal(9500)
  })

  for (const [what, reference] of [
    ['a file', async () => toFile(PIXEL, 'pixel.png', { type: 'image/png' })],
    ['an address', async () => ({ image_url: PIXEL_URI })],
  ] as const) {
    for (const model of ['sandbox-video', 'queue-video']) {
      it(`begin with a picture that is ${what}, at ${model}`, async () => {
        const prompt = prompted()
        const begun = await client().videos.create({ model, prompt, input_reference: await reference() })
        expect((await untilEnded(begun.id)).status).to.equal('completed')
        const sent = JSON.stringify(gateway.sandbox.journal(prompt)[0])
        expect(sent).to.contain(model === 'sandbox-video' ? 'input_reference' : 'data:image/png;base64,')
      })
    }
  }

  it('are refused for what is no picture, and fail, refunded, for one that cannot be read', async () => {
    const file = await toFile(PIXEL.subarray(0, 40), 'pixel.png', { type: 'image/png' })
    const begun = await client().videos.create({ model: 'sandbox-video', prompt: prompted(), input_reference: file })
    const ended = await untilEnded(begun.id)
    expect(ended.status).to.equal('failed')
    expect(ended.error!.message).to.contain('The uploaded file')
    expect(await account.balance()).to.equal(10_000)
    for (const bytes of [Buffer.alloc(0), Buffer.from('no picture')]) {
      const none = await toFile(bytes, 'pixel.png', { type: 'image/png' })
      expect(
        await refusal(client().videos.create({ model: 'sandbox-video', prompt: prompted(), input_reference: none })),
      ).to.include({ status: 400, param: 'input_reference' })
    }
  })

  it('are charged once where the same form comes again under its key, and refused where another does', async () => {
    const send = (name: string, bytes = PIXEL) =>
      toFile(bytes, name, { type: 'image/png' }).then((file) =>
        client().videos.create(
          { model: 'sandbox-video', prompt: 'the same', input_reference: file },
          { idempotencyKey: 'once', headers: { 'idempotency-key': 'once' } },
        ),
      )
    const first = await send('pixel.png')
    expect((await send('pixel.png')).id).to.equal(first.id)
    expect(await refusal(send('other.png', Buffer.concat([PIXEL, PIXEL])))).to.include({ status: 422 })
    await untilEnded(first.id)
    expect(await account.balance()).to.equal(9750)
  })
})
