import { expect } from 'chai'
import OpenAI, { APIError, toFile } from 'openai'
import { prompted, VIDEOS, changeCall } from '../../../scripts/harness/calling.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { PIXEL as PIXEL_TEXT, PIXEL_URI } from '../../support/pixel.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import { refusal as refusalOf } from './support/errors.ts'
import { addVideos } from './support/video-models.ts'

/** Makes a video as quickly as it can be looked at. */
const QUICK = '[duration 0.001]'

const MADE_IN_DAYS = 30
const DAY_SECONDS = 86_400
const PIXEL = Buffer.from(PIXEL_TEXT, 'base64')

describe('videos in the form of OpenAI', () => {
  const gateway = useGateway({}, addVideos)
  const account = useAccount(gateway, 10_000)

  const at = (path = ''): string => `/v1/videos${path}`
  const create = (fields: object = {}, headers?: Record<string, string>): Promise<Reply> =>
    account.post(at(), { model: 'sandbox-video', prompt: prompted(QUICK), ...fields }, headers)
  const show = (id: string): Promise<Reply> => account.get(at(`/${id}`))
  const fetched = (id: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}${at(`/${id}/content`)}`, { method, headers: { 'x-api-key': account.key, ...headers } })
  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

  const untilEnded = (id: string): Promise<Reply> =>
    until('the video ends', async () => {
      const seen = await show(id)
      return ['completed', 'failed'].includes(seen.json.status) && seen
    })
  const begins = (id: string) => until('it begins', async () => (await show(id)).json.status === 'in_progress')

  const made = async (fields: object = {}): Promise<string> => {
    const { json } = await create(fields)
    await untilEnded(json.id)
    return json.id
  }

  it('are answered at once, looked at, and fetched', async () => {
    const prompt = prompted('a lighthouse')
    const asked = Math.floor(Date.now() / 1000) - 1
    const begun = await create({ prompt, seconds: '4', size: '1280x720' })
    expect(begun.status, begun.text).to.equal(200)
    const { id, created_at: createdAt } = begun.json
    expect(createdAt).to.be.within(asked, Date.now() / 1000)
    expect(id).to.equal(`video_${begun.headers.get('x-call-id')}`)
    expect(begun.json).to.deep.equal({
      id,
      object: 'video',
      model: 'sandbox-video',
      status: 'queued',
      progress: 0,
      created_at: createdAt,
      completed_at: null,
      expires_at: null,
      error: null,
      prompt,
      seconds: '4',
      size: '1280x720',
      remixed_from_video_id: null,
    })
    const headers = ['openai-poll-after-ms', 'x-credits', 'x-balance']
    expect(headers.map((name) => begun.headers.get(name))).to.deep.equal(['5000', '250', '9750'])
    const exposed = begun.headers.get('access-control-expose-headers')!.toLowerCase().split(', ')
    expect(exposed).to.include.members([...headers, 'content-range', 'accept-ranges'])

    const ended = await untilEnded(id)
    const { completed_at: completedAt } = ended.json
    expect(completedAt).to.be.within(createdAt, Date.now() / 1000)
    const expires_at = completedAt + MADE_IN_DAYS * DAY_SECONDS
    const completed = { status: 'completed', progress: 100, completed_at: completedAt, expires_at, prompt: null }
    expect(ended.json).to.deep.equal({ ...begun.json, ...completed })
    expect(ended.headers.get('x-credits')).to.equal('250')
    expect(await gateway.movements(begun)).to.deep.equal(['charge -250'])
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body)).to.contain('"size":"1280x720"')
    const same = await account.get(`/v1/calls/${id.slice('video_'.length)}`)
    expect(same.json).to.include({ ok: true })
    const content = await fetched(id)
    const media = await fetch(new URL(new URL(same.json.data[0].url).pathname, gateway.url))
    expect(content.headers.get('content-type')).to.equal('video/mp4')
    expect((await bytesOf(content)).equals(await bytesOf(media))).to.equal(true)
  })

  for (const [modality, credits, type] of [
    ['image', 40, 'image/png'],
    ['video', 250, 'video/mp4'],
  ] as const)
    it(`are answered by POST /v1/${modality}s/generations with an address that serves the result`, async () => {
      const prompt = `${prompted()}  ünïcode 😀 e\u0301 \u202e\u200b\n "quoted" \\ </script>  `
      const asked = Math.floor(Date.now() / 1000)
      const model = `sandbox-${modality}`
      const reply = await account.post(`/v1/${modality}s/generations`, { model, prompt })
      expect(reply.status, reply.text).to.equal(200)
      const { ok, created, data, usage, ...more } = reply.json
      expect([ok, more]).to.deep.equal([true, {}])
      expect(created).to.be.within(asked, Date.now() / 1000)
      const { latencyMs } = usage
      expect(usage).to.deep.equal({ credits, balance: 10_000 - credits, latencyMs })
      expect(latencyMs).to.satisfy(Number.isInteger)
      expect(await account.balance()).to.equal(10_000 - credits)
      expect(await gateway.movements(reply)).to.deep.equal([`charge -${credits}`])
      const made = { modality, model, latencyMs, resultUrl: data[0].url, inputTokens: null }
      const paid = { status: 'succeeded', credits, creditsPrecharged: credits, upstream: 'sandbox', attempts: 1 }
      expect(await gateway.record(reply)).to.include({ ...made, ...paid })
      expect(gateway.sandbox.billed(prompt).total, 'to the last character').to.equal(1)
      const media = await get(new URL(new URL(data[0].url).pathname, gateway.url).href)
      expect([media.status, media.headers.get('content-type')]).to.deep.equal([200, type])
    })

  it('fail with the reason, are refunded, and have neither content nor thumbnail', async () => {
    const begun = await create({ prompt: prompted('[fail]') })
    const { json, headers } = await untilEnded(begun.json.id)
    expect(json).to.include({ status: 'failed', expires_at: null })
    expect(json.error).to.have.all.keys('code', 'message')
    expect(json.error.code).to.equal('upstream_failed')
    expect([headers.get('x-credits'), headers.get('x-balance')]).to.deep.equal(['0', '10000'])
    for (const variant of ['video', 'thumbnail'])
      expect((await account.get(at(`/${json.id}/content?variant=${variant}`))).status).to.equal(404)
  })

  it('have no content before their end: 409', async () => {
    const { json } = await create({ prompt: prompted('[hold]') })
    const early = await account.get(at(`/${json.id}/content`))
    expect([early.status, early.json.ok, early.json.error.code]).to.deep.equal([409, false, 'not_ready'])
    await begins(json.id)
    gateway.sandbox.release('')
    await untilEnded(json.id)
    expect((await show(json.id)).json.progress).to.equal(100)
  })

  it('have content that is fetched in ranges, asked for its head, and none after its time', async () => {
    const id = await made()
    const bytes = await bytesOf(await fetched(id))
    const part = await fetched(id, 'GET', { range: 'bytes=5-20' })
    expect([part.status, (await bytesOf(part)).equals(bytes.subarray(5, 21))]).to.deep.equal([206, true])
    const head = await fetched(id, 'HEAD')
    expect(head.status).to.equal(200)
    expect(head.headers.get('content-length')).to.equal(String(bytes.length))
    expect(head.headers.get('accept-ranges')).to.equal('bytes')
    for (const [variant, status] of Object.entries({ video: 200, thumbnail: 404, spritesheet: 404, poster: 400 }))
      expect((await account.get(at(`/${id}/content?variant=${variant}`))).status, variant).to.equal(status)
    const unfolded = gateway.db('calls').where({ account_id: account.id })
    await until('the call is in the hours of usage', async () => {
      const late = unfolded.clone().whereRaw('finished_at >= (SELECT folded_until FROM usage_watermark)')
      return (await late.first('id')) === undefined
    })
    const finished_at = gateway.db.raw(`now() - interval '${MADE_IN_DAYS} days'`)
    await gateway.db('calls').where({ account_id: account.id }).update({ finished_at })
    expect((await fetched(id)).status).to.equal(404)
    expect((await show(id)).json.status).to.equal('completed')
  })

  it('are looked at and fetched with the route that made them, of which nothing is told', async () => {
    const begun = await create({ model: 'second-video' })
    const ended = await untilEnded(begun.json.id)
    expect(ended.json.status).to.equal('completed')
    expect((await fetched(begun.json.id)).status).to.equal(200)
    for (const { headers, text } of [begun, ended, await account.get(at())]) {
      const told = JSON.stringify([...headers]) + text
      expect(told).to.not.contain(new URL(gateway.sandbox.url).host)
      expect(told).to.not.contain('sk-made-up')
    }
  })

  it('have content elsewhere where their upstream keeps it: a redirect that needs no key', async () => {
    const id = await made({ model: 'linked-video' })
    expect((await show(id)).json.expires_at).to.equal(null)
    const content = await account.get(at(`/${id}/content`))
    expect(content.status).to.equal(302)
    expect((await fetch(content.headers.get('location')!)).headers.get('content-type')).to.equal('video/mp4')
    expect((await account.send('DELETE', at(`/${id}`))).status).to.equal(200)
    expect((await account.get(at(`/${id}/content`))).status).to.equal(404)
  })

  it('are listed with those of the other endpoint, page by page, in both orders', async () => {
    const ids: string[] = []
    for (let nth = 0; nth < 2; nth++) ids.unshift(await made())
    const other = await account.post(VIDEOS, { model: 'sandbox-video', prompt: prompted(QUICK) })
    ids.unshift(`video_${other.headers.get('x-call-id')}`)
    await create({ model: 'nothing' })
    const page = async (query: string) => (await account.get(at(`?${query}`))).json
    const all = await page('')
    expect(all).to.deep.include({ object: 'list', first_id: ids[0], last_id: ids[2], has_more: false })
    expect(all.data.map(({ id }: { id: string }) => id)).to.deep.equal(ids)
    expect(await page('limit=2')).to.deep.include({ last_id: ids[1], has_more: true })
    expect(await page(`limit=2&after=${ids[1]}`)).to.deep.include({ first_id: ids[2], has_more: false })
    expect(await page(`order=asc&limit=1&after=${ids[2]}`)).to.deep.include({ first_id: ids[1], has_more: true })
    expect(await page(`after=${ids[2]}`)).to.deep.include({ data: [], first_id: null, last_id: null })
    for (const query of ['limit=0', 'limit=101', 'order=up', 'after=call_1', `after=video_call_${'0'.repeat(32)}`]) {
      const refused = await account.get(at(`?${query}`))
      expect([refused.status, refused.json.error.param], query).to.deep.equal([400, query.split('=')[0]])
    }
  })

  it("are their account's own: of another one's nothing is seen, fetched or deleted", async () => {
    const id = await made()
    const other = await gateway.account(1000)
    for (const method of ['GET', 'DELETE'])
      expect((await other.send(method, at(`/${id}`))).status, method).to.equal(404)
    expect((await other.get(at(`/${id}/content`))).status).to.equal(404)
    expect((await other.get(at())).json.data).to.deep.equal([])
    expect((await other.get(at(`?after=${id}`))).status).to.equal(400)
    expect((await show(id)).status).to.equal(200)
    for (const wrong of ['video_1', id.slice('video_'.length), 'video_call_x'])
      expect((await show(wrong)).status, wrong).to.equal(404)
    expect((await account.post(at(`/${id}/remix`), { prompt: 'x' })).status).to.equal(404)
  })

  it('are charged once for an Idempotency-Key or a numbered retry, whose replay says where they stand', async () => {
    const fields = { prompt: prompted('[hold]') }
    const headers = { 'idempotency-key': 'once' }
    const first = await create(fields, headers)
    await begins(first.json.id)
    const again = await create(fields, headers)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.json).to.deep.include({ id: first.json.id, status: 'in_progress', prompt: fields.prompt })
    expect((await create({ ...fields, seconds: '4' }, headers)).status).to.equal(422)
    await changeCall(gateway.db, first, { abandoned_at: gateway.db.fn.now() })
    const retried = await create(fields, { 'x-stainless-retry-count': '1' })
    expect([retried.json.id, retried.headers.get('idempotent-replayed')]).to.deep.equal([first.json.id, 'true'])
    gateway.sandbox.release(fields.prompt)
    await untilEnded(first.json.id)
    expect((await create(fields, headers)).json).to.include({ id: first.json.id, status: 'completed' })
    expect(await account.balance()).to.equal(9750)
  })

  describe("by OpenAI's own SDK", () => {
    const client = (): OpenAI => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 })
    const createIn = (more: Partial<OpenAI.VideoCreateParams> = {}, options: object = {}) => {
      const params = { model: 'sandbox-video', prompt: prompted(QUICK), ...more } as OpenAI.VideoCreateParams
      return client().videos.create(params, options)
    }
    const png = (bytes: Buffer, name = 'pixel.png') => toFile(bytes, name, { type: 'image/png' })
    const refusal = (request: PromiseLike<unknown>): Promise<APIError> => refusalOf(request, APIError)

    it('are created, downloaded, listed and deleted', async () => {
      const asked = { prompt: prompted(QUICK), seconds: '4', size: '1280x720' } as const
      const begun = await createIn(asked)
      expect(begun).to.include({ object: 'video', status: 'queued', ...asked })
      await untilEnded(begun.id)
      expect(await client().videos.retrieve(begun.id)).to.include({ id: begun.id, status: 'completed', progress: 100 })
      const content = await client().videos.downloadContent(begun.id)
      expect((await content.arrayBuffer()).byteLength).to.be.above(100)
      const other = await createIn()
      const listed: string[] = []
      for await (const video of client().videos.list({ limit: 1 })) listed.push(video.id)
      expect(listed).to.deep.equal([other.id, begun.id])
      expect(await client().videos.delete(begun.id)).to.include({
        id: begun.id,
        object: 'video.deleted',
        deleted: true,
      })
      expect(await refusal(client().videos.retrieve(begun.id))).to.include({ status: 404, code: 'not_found' })
    })

    for (const [model, reference, sent] of [
      ['sandbox-video', () => ({ image_url: PIXEL_URI }), 'input_reference'],
      ['queue-video', () => png(PIXEL), 'data:image/png;base64,'],
    ] as const)
      it(`begin with a picture, which is sent as ${sent}`, async () => {
        const prompt = prompted(QUICK)
        const begun = await createIn({ model, prompt, input_reference: await reference() })
        expect((await untilEnded(begun.id)).json.status).to.equal('completed')
        expect(JSON.stringify(gateway.sandbox.journal(prompt)[0])).to.contain(sent)
      })

    it('are refused for what is no picture, and fail, refunded, for one that cannot be read', async () => {
      const begun = await createIn({ input_reference: await png(PIXEL.subarray(0, 40)) })
      const { json } = await untilEnded(begun.id)
      expect(json.status).to.equal('failed')
      expect(json.error.message).to.contain('The uploaded file')
      expect(await account.balance()).to.equal(10_000)
      for (const bytes of [Buffer.alloc(0), Buffer.from('no picture')])
        expect(await refusal(createIn({ input_reference: await png(bytes) }))).to.include({
          status: 400,
          param: 'input_reference',
        })
    })

    it('are charged once where the same form comes again under its key, and refused where another does', async () => {
      const once = { idempotencyKey: 'once', headers: { 'idempotency-key': 'once' } }
      const send = async (bytes = PIXEL, name = 'pixel.png') =>
        createIn({ prompt: 'the same', input_reference: await png(bytes, name) }, once)
      const first = await send()
      expect((await send()).id).to.equal(first.id)
      expect(await refusal(send(Buffer.concat([PIXEL, PIXEL]), 'other.png'))).to.include({ status: 422 })
      await untilEnded(first.id)
      expect(await account.balance()).to.equal(9750)
    })
  })
})
