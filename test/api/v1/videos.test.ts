import { expect } from 'chai'
import { prompted, VIDEOS, changeCall } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, post, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const MADE_IN_DAYS = 30
const DAY_SECONDS = 86_400

describe('videos in the form of OpenAI', () => {
  const gateway = useGateway({}, ({ models, upstreams }) => {
    const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
    const queue = { ...sandbox, protocol: 'fal', baseUrl: baseUrl.replace('/v1', '/fal') }
    Object.assign(upstreams, { queue, linking: { ...queue, results: 'link' } })
    const ofQueue = { upstream: 'queue', model: 'fal-ai/video-sandbox' }
    const unreachable = { upstream: 'unreachable', model: 'video-sandbox' }
    for (const [id, routes] of [
      ['second-video', [unreachable, ofQueue]],
      ['linked-video', [{ ...ofQueue, upstream: 'linking' }]],
    ] as const)
      models.push({ id, modality: 'video', credits: 250, upstreams: routes })
  })
  const account = useAccount(gateway, 10_000)

  const at = (path = ''): string => `${gateway.url}/v1/videos${path}`
  const create = (fields: object = {}, headers?: Record<string, string>): Promise<Reply> =>
    post(at(), account.key, { model: 'sandbox-video', prompt: prompted(), ...fields }, headers)
  const show = (id: string, key = account.key): Promise<Reply> => get(at(`/${id}`), key)

  async function untilEnded(id: string): Promise<Reply> {
    return until('the video ends', async () => {
      const seen = await show(id)
      return ['completed', 'failed'].includes(seen.json.status) && seen
    })
  }

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
    expect(begun.headers.get('openai-poll-after-ms')).to.equal('5000')
    expect(begun.headers.get('x-credits')).to.equal('250')
    expect(begun.headers.get('x-balance')).to.equal('9750')

    const ended = await untilEnded(id)
    const { completed_at: completedAt } = ended.json
    expect(ended.json).to.deep.equal({
      ...begun.json,
      status: 'completed',
      progress: 100,
      completed_at: completedAt,
      expires_at: completedAt + MADE_IN_DAYS * DAY_SECONDS,
      prompt: null,
    })
    expect(completedAt).to.be.within(createdAt, Date.now() / 1000)
    expect(ended.headers.get('x-credits')).to.equal('250')
    expect(await gateway.movements(begun)).to.deep.equal(['charge -250'])
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(JSON.stringify(gateway.sandbox.journal(prompt)[0]!.body)).to.contain('"size":"1280x720"')
    const same = await account.get(`/v1/calls/${id.slice('video_'.length)}`)
    expect(same.json).to.include({ ok: true })
    const content = await fetch(at(`/${id}/content`), { headers: { authorization: `Bearer ${account.key}` } })
    const media = await fetch(new URL(new URL(same.json.data[0].url).pathname, gateway.url))
    expect(content.headers.get('content-type')).to.equal('video/mp4')
    expect(Buffer.from(await content.arrayBuffer()).equals(Buffer.from(await media.arrayBuffer()))).to.equal(true)
  })

  it('fail with the reason, are refunded, and have neither content nor thumbnail', async () => {
    const begun = await create({ prompt: prompted('[fail]') })
    const { json, headers } = await untilEnded(begun.json.id)
    expect(json).to.include({ status: 'failed', expires_at: null })
    expect(json.error).to.have.all.keys('code', 'message')
    expect(json.error.code).to.equal('upstream_failed')
    expect(headers.get('x-credits')).to.equal('0')
    expect(headers.get('x-balance')).to.equal('10000')
    for (const variant of ['video', 'thumbnail']) {
      expect((await get(at(`/${json.id}/content?variant=${variant}`), account.key)).status).to.equal(404)
    }
  })

  it('have a progress that never falls', async () => {
    const { json } = await create({ prompt: prompted('[duration 3]') })
    const seen: number[] = []
    await until('the video ends', async () => {
      const { json: now } = await show(json.id)
      seen.push(now.progress)
      return now.status === 'completed'
    })
    expect(seen).to.deep.equal(seen.toSorted((a, b) => a - b))
    expect(
      seen.some((progress) => progress > 0 && progress < 100),
      seen.join(' '),
    ).to.equal(true)
    expect(seen.at(-1)).to.equal(100)
  })

  it('have no content before their end, and say so by 409', async () => {
    const { json } = await create({ prompt: prompted('[hold]') })
    await until('it begins', async () => (await show(json.id)).json.status === 'in_progress')
    const early = await get(at(`/${json.id}/content`), account.key)
    expect(early.status).to.equal(409)
    expect(early.json).to.deep.include({ ok: false })
    expect(early.json.error.code).to.equal('not_ready')
    gateway.sandbox.release('')
    await untilEnded(json.id)
  })

  it('have content that is fetched in ranges, and asked for its head', async () => {
    const id = await made()
    const whole = await fetch(at(`/${id}/content?variant=video`), {
      headers: { authorization: `Bearer ${account.key}` },
    })
    const bytes = Buffer.from(await whole.arrayBuffer())
    const asked = (method: string, headers: Record<string, string> = {}) =>
      fetch(at(`/${id}/content`), { method, headers: { authorization: `Bearer ${account.key}`, ...headers } })
    const part = await asked('GET', { range: 'bytes=5-20' })
    expect(part.status).to.equal(206)
    expect(part.headers.get('content-range')).to.equal(`bytes 5-20/${bytes.length}`)
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(5, 21))).to.equal(true)
    const head = await asked('HEAD')
    expect(head.status).to.equal(200)
    expect(head.headers.get('content-length')).to.equal(String(bytes.length))
    expect(head.headers.get('accept-ranges')).to.equal('bytes')
    expect((await asked('GET', { range: `bytes=${bytes.length}-` })).status).to.equal(416)
    for (const variant of ['thumbnail', 'spritesheet']) {
      expect((await get(at(`/${id}/content?variant=${variant}`), account.key)).status, variant).to.equal(404)
    }
    expect((await get(at(`/${id}/content?variant=poster`), account.key)).status).to.equal(400)
  })

  for (const model of ['sandbox-video', 'second-video']) {
    it(`are looked at and fetched with the route that made them, of which nothing is told, at ${model}`, async () => {
      const begun = await create({ model })
      const ended = await untilEnded(begun.json.id)
      expect(ended.json.status).to.equal('completed')
      const content = await get(at(`/${begun.json.id}/content`), account.key)
      expect(content.status).to.equal(200)
      for (const { headers, text } of [begun, ended, await get(at(), account.key)]) {
        const told = JSON.stringify([...headers]) + text
        expect(told).to.not.contain(new URL(gateway.sandbox.url).host)
        expect(told).to.not.contain('sk-made-up')
      }
    })
  }

  it('have content elsewhere where their upstream keeps it: a redirect that needs no key', async () => {
    const id = await made({ model: 'linked-video' })
    expect((await show(id)).json.expires_at).to.equal(null)
    const content = await get(at(`/${id}/content`), account.key)
    expect(content.status).to.equal(302)
    const followed = await fetch(content.headers.get('location')!)
    expect(followed.headers.get('content-type')).to.equal('video/mp4')
    expect((await send('DELETE', at(`/${id}`), { key: account.key })).status).to.equal(200)
    expect((await get(at(`/${id}/content`), account.key)).status).to.equal(404)
  })

  it('have no content after its time', async () => {
    const id = await made()
    await gateway
      .db('calls')
      .where({ account_id: account.id })
      .update({ finished_at: gateway.db.raw(`now() - interval '${MADE_IN_DAYS} days'`) })
    const gone = await get(at(`/${id}/content`), account.key)
    expect(gone.status).to.equal(404)
    expect((await show(id)).json.status).to.equal('completed')
  })

  it('are listed with those of the other endpoint, page by page, in both orders', async () => {
    const ids: string[] = []
    for (let nth = 0; nth < 2; nth++) ids.unshift(await made())
    const other = await account.post(VIDEOS, { model: 'sandbox-video', prompt: prompted() })
    ids.unshift(`video_${other.headers.get('x-call-id')}`)
    await create({ model: 'nothing' })
    const page = async (query: string) => (await get(at(`?${query}`), account.key)).json
    const all = await page('')
    expect(all).to.deep.include({ object: 'list', first_id: ids[0], last_id: ids[2], has_more: false })
    expect(all.data.map(({ id }: { id: string }) => id)).to.deep.equal(ids)
    const first = await page('limit=2')
    expect(first).to.deep.include({ last_id: ids[1], has_more: true })
    expect(await page(`limit=2&after=${ids[1]}`)).to.deep.include({ first_id: ids[2], has_more: false })
    expect(await page(`order=asc&limit=1&after=${ids[2]}`)).to.deep.include({ first_id: ids[1], has_more: true })
    expect(await page(`after=${ids[2]}`)).to.deep.include({ data: [], first_id: null, last_id: null })
    for (const query of ['limit=0', 'limit=101', 'order=up', 'after=call_1', `after=video_call_${'0'.repeat(32)}`]) {
      const refused = await get(at(`?${query}`), account.key)
      expect(refused.status, query).to.equal(400)
      expect(refused.json.error.param).to.equal(query.split('=')[0])
    }
  })

  it("are their account's own: of another one's nothing is seen, fetched or deleted", async () => {
    const id = await made()
    const other = await gateway.account(1000)
    for (const method of ['GET', 'DELETE'])
      expect((await send(method, at(`/${id}`), { key: other.key })).status, method).to.equal(404)
    expect((await get(at(`/${id}/content`), other.key)).status).to.equal(404)
    expect((await get(at(), other.key)).json.data).to.deep.equal([])
    expect((await get(at(`?after=${id}`), other.key)).status).to.equal(400)
    expect((await show(id)).status).to.equal(200)
    for (const wrong of ['video_1', id.slice('video_'.length), 'video_call_x']) {
      expect((await show(wrong)).status, wrong).to.equal(404)
    }
    expect((await post(at(`/${id}/remix`), account.key, { prompt: 'x' })).status).to.equal(404)
  })

  it('are charged once for an Idempotency-Key, whose replay says where they stand', async () => {
    const fields = { prompt: prompted('[hold]') }
    const headers = { 'idempotency-key': 'once' }
    const first = await create(fields, headers)
    await until('it begins', async () => (await show(first.json.id)).json.status === 'in_progress')
    const again = await create(fields, headers)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.json).to.deep.include({ id: first.json.id, status: 'in_progress', prompt: fields.prompt })
    expect((await create({ ...fields, seconds: '4' }, headers)).status).to.equal(422)
    gateway.sandbox.release(fields.prompt)
    await untilEnded(first.json.id)
    expect((await create(fields, headers)).json).to.include({ id: first.json.id, status: 'completed' })
    expect(await account.balance()).to.equal(9750)
  })

  it('are joined by the numbered retry of a client that left before its answer', async () => {
    const fields = { model: 'sandbox-video', prompt: prompted() }
    const first = await create(fields)
    await changeCall(gateway.db, first, { abandoned_at: gateway.db.fn.now() })
    const again = await create(fields, { 'x-stainless-retry-count': '1' })
    expect(again.json.id).to.equal(first.json.id)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(await account.balance()).to.equal(9750)
  })

  it('tell their end to the address that their request names', async () => {
    const begun = await create({}, { 'x-callback-url': 'https://example.com/told' })
    await untilEnded(begun.json.id)
    const told = await gateway.db('webhook_deliveries').where({ url: 'https://example.com/told' }).select('type')
    expect(told).to.deep.equal([{ type: 'call.succeeded' }])
  })

  it('let pages of other origins read their headers', async () => {
    const { headers, json } = await create()
    await untilEnded(json.id)
    const exposed = headers.get('access-control-expose-headers')!.toLowerCase().split(', ')
    expect(exposed).to.include.members([
      'openai-poll-after-ms',
      'content-range',
      'accept-ranges',
      'x-credits',
      'x-balance',
    ])
  })
})
