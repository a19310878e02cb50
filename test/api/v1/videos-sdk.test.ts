import { expect } from 'chai'
import OpenAI, { APIError, toFile } from 'openai'
import { prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { PIXEL as PIXEL_TEXT, PIXEL_URI } from '../../support/pixel.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { refusal as refusalOf } from './support/errors.ts'
import { addVideos } from './support/video-models.ts'

const PIXEL = Buffer.from(PIXEL_TEXT, 'base64')

describe("videos of OpenAI's own SDK", () => {
  const gateway = useGateway({}, addVideos)
  const account = useAccount(gateway, 10_000)

  const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
  const create = (more: Partial<OpenAI.VideoCreateParams> = {}, options: object = {}) =>
    client().videos.create({ model: 'sandbox-video', prompt: prompted(), ...more } as OpenAI.VideoCreateParams, options)
  const png = (bytes: Buffer, name = 'pixel.png') => toFile(bytes, name, { type: 'image/png' })
  const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)

  const untilEnded = (id: string) =>
    until('the video ends', async () => {
      const video = await client().videos.retrieve(id)
      return (video.status === 'completed' || video.status === 'failed') && video
    })

  it('are created, retrieved, downloaded, listed and deleted', async () => {
    const asked = { prompt: prompted(), seconds: '4', size: '1280x720' } as const
    const begun = await create(asked)
    expect(begun).to.include({ object: 'video', status: 'queued', ...asked })
    expect(await untilEnded(begun.id)).to.include({ id: begun.id, status: 'completed', progress: 100 })
    const content = await client().videos.downloadContent(begun.id)
    expect(content.headers.get('content-type')).to.equal('video/mp4')
    expect((await content.arrayBuffer()).byteLength).to.be.above(100)
    const other = await create()
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
    ['a file', () => png(PIXEL)],
    ['an address', () => Promise.resolve({ image_url: PIXEL_URI })],
  ] as const)
    for (const model of ['sandbox-video', 'queue-video'])
      it(`begin with a picture that is ${what}, at ${model}`, async () => {
        const prompt = prompted()
        const begun = await create({ model, prompt, input_reference: await reference() })
        expect((await untilEnded(begun.id)).status).to.equal('completed')
        const sent = JSON.stringify(gateway.sandbox.journal(prompt)[0])
        expect(sent).to.contain(model === 'sandbox-video' ? 'input_reference' : 'data:image/png;base64,')
      })

  it('are refused for what is no picture, and fail, refunded, for one that cannot be read', async () => {
    const begun = await create({ input_reference: await png(PIXEL.subarray(0, 40)) })
    const ended = await untilEnded(begun.id)
    expect(ended.status).to.equal('failed')
    expect(ended.error!.message).to.contain('The uploaded file')
    expect(await account.balance()).to.equal(10_000)
    for (const bytes of [Buffer.alloc(0), Buffer.from('no picture')])
      expect(await refusal(create({ input_reference: await png(bytes) }))).to.include({
        status: 400,
        param: 'input_reference',
      })
  })

  it('are charged once where the same form comes again under its key, and refused where another does', async () => {
    const once = { idempotencyKey: 'once', headers: { 'idempotency-key': 'once' } }
    const send = async (bytes = PIXEL, name = 'pixel.png') =>
      create({ prompt: 'the same', input_reference: await png(bytes, name) }, once)
    const first = await send()
    expect((await send()).id).to.equal(first.id)
    expect(await refusal(send(Buffer.concat([PIXEL, PIXEL]), 'other.png'))).to.include({ status: 422 })
    await untilEnded(first.id)
    expect(await account.balance()).to.equal(9750)
  })
})
