import { expect } from 'chai'
import { callOf, prompted, VIDEOS, changeCall } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, post, send } from '../../../scripts/harness/http.ts'
import { eventually, until } from '../../../scripts/harness/until.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

describe('a video that is deleted', () => {
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const { baseUrl, ...sandbox } = upstreams.sandbox as { baseUrl: string }
    upstreams.queue = { ...sandbox, protocol: 'fal', baseUrl: baseUrl.replace('/v1', '/fal') }
    upstreams.narrow = { ...upstreams.sandbox, concurrency: 1 }
    for (const upstream of ['queue', 'narrow']) {
      const model = upstream === 'queue' ? 'fal-ai/video-sandbox' : 'video-sandbox'
      models.push({ id: `${upstream}-video`, modality: 'video', credits: 250, upstreams: [{ upstream, model }] })
    }
  })
  const account = useAccount(gateway, 1000)

  const at = (path = ''): string => `${gateway.url}/v1/videos${path}`
  const create = (fields: object = {}, headers?: Record<string, string>): Promise<Reply> =>
    post(at(), account.key, { model: 'sandbox-video', prompt: prompted(), ...fields }, headers)
  const remove = (id: string): Promise<Reply> => send('DELETE', at(`/${id}`), { key: account.key })
  const standing = async (id: string): Promise<string> => (await get(at(`/${id}`), account.key)).json.status
  const untilIt = (is: string, id: string) => until(`the video is ${is}`, async () => (await standing(id)) === is)

  /** Expects nothing to be left of a video but the record of its call. */
  async function expectGone(begun: Reply): Promise<void> {
    const { id } = begun.json
    for (const path of [`/${id}`, `/${id}/content`])
      expect((await get(at(path), account.key)).status, path).to.equal(404)
    expect((await remove(id)).status, 'a second deletion').to.equal(404)
    expect((await get(at(), account.key)).json.data).to.deep.equal([])
    const kept = await gateway
      .db('call_results')
      .where({ call_id: callOf(begun) })
      .first('call_id')
    expect(kept, 'a result').to.equal(undefined)
    const answer = await account.get(`/v1/calls/${begun.headers.get('x-call-id')}`)
    expect(answer.status).to.equal(410)
  }

  it('has no content and no result any more, and keeps its record and its price', async () => {
    const begun = await create()
    await untilIt('completed', begun.json.id)
    const { resultUrl } = await gateway.record(begun)
    const file = new URL(new URL(resultUrl!).pathname, gateway.url).href
    expect((await get(file)).status).to.equal(200)
    const deleted = await remove(begun.json.id)
    expect(deleted.json).to.deep.equal({ id: begun.json.id, object: 'video.deleted', deleted: true })
    expect(['x-credits', 'x-balance'].map((name) => deleted.headers.get(name))).to.deep.equal(['250', '750'])
    await expectGone(begun)
    await eventually(async () => {
      expect((await get(file)).status).to.equal(404)
      expect(await gateway.record(begun)).to.include({ status: 'succeeded', credits: 250, resultUrl: null })
    })
    expect(await account.balance()).to.equal(750)
  })

  it('may have failed', async () => {
    const begun = await create({ prompt: prompted('[fail]') })
    await untilIt('failed', begun.json.id)
    expect((await remove(begun.json.id)).status).to.equal(200)
    await expectGone(begun)
    expect(await account.balance()).to.equal(1000)
  })

  it('is refunded where no worker has begun it, and is never sent', async () => {
    await gateway.stopWorker()
    const prompt = prompted()
    const begun = await create({ prompt })
    expect((await remove(begun.json.id)).status).to.equal(200)
    expect(await account.balance()).to.equal(1000)
    await gateway.startWorker()
    await expectGone(begun)
    expect(await gateway.movements(begun)).to.deep.equal(['charge -250', 'refund 250'])
    expect(gateway.sandbox.billed(prompt).total).to.equal(0)
  })

  it('is refunded by its worker where the web process died after it was deleted', async () => {
    await gateway.stopWorker()
    const prompt = prompted()
    const begun = await create({ prompt })
    await changeCall(gateway.db, begun, { deleted_at: gateway.db.fn.now() })
    await gateway.startWorker()
    await until('it is refunded', async () => (await account.balance()) === 1000)
    expect(gateway.sandbox.billed(prompt).total).to.equal(0)
    await expectGone(begun)
  })

  it('is refunded while it waits for its upstream, and is never sent', async () => {
    const [first, second] = [prompted('[delay 5000]'), prompted()]
    const busy = await create({ model: 'narrow-video', prompt: first })
    await until('the only place is taken', () => gateway.sandbox.open(first).open === 1)
    const waiting = await create({ model: 'narrow-video', prompt: second })
    await untilIt('in_progress', waiting.json.id)
    expect((await remove(waiting.json.id)).status).to.equal(200)
    expect(await gateway.movements(waiting)).to.deep.equal(['charge -250', 'refund 250'])
    expect(gateway.sandbox.billed(second).total).to.equal(0)
    await untilIt('completed', busy.json.id)
  })

  for (const model of ['sandbox-video', 'queue-video']) {
    it(`is cancelled at its upstream, and costs its price, once it was sent by ${model}`, async () => {
      const prompt = prompted('[stuck]')
      const begun = await create({ model, prompt })
      await untilIt('in_progress', begun.json.id)
      await until('it was sent', () => gateway.sandbox.billed(prompt).total === 1)
      expect((await remove(begun.json.id)).status).to.equal(200)
      await until('it is ended', async () => (await gateway.record(begun)).finishedAt !== null)
      expect(gateway.sandbox.billed(prompt).entries[0]!.outcome).to.equal('cancelled')
      await expectGone(begun)
      expect(await gateway.movements(begun)).to.deep.equal(['charge -250'])
      expect(await gateway.record(begun)).to.include({ status: 'succeeded', credits: 250, resultUrl: null })
    })
  }

  it('costs its price where its upstream is just being sent it', async () => {
    const prompt = prompted('[delay 1500] [stuck]')
    const begun = await create({ prompt })
    await until('it is being sent', () => gateway.sandbox.open(prompt).open === 1)
    expect((await remove(begun.json.id)).status).to.equal(200)
    await until('it is ended', async () => (await gateway.record(begun)).finishedAt !== null)
    expect(await gateway.movements(begun)).to.deep.equal(['charge -250'])
    expect(gateway.sandbox.billed(prompt).entries[0]!.outcome).to.equal('cancelled')
    await expectGone(begun)
  })

  it('is joined by no retry while it is yet to be ended', async () => {
    await gateway.stopWorker()
    const fields = { prompt: prompted() }
    const begun = await create(fields, { 'idempotency-key': 'again' })
    const left = { deleted_at: gateway.db.fn.now(), abandoned_at: gateway.db.raw(`now() - interval '1 second'`) }
    await changeCall(gateway.db, begun, left)
    expect((await create(fields, { 'idempotency-key': 'again' })).json.error.code).to.equal('result_expired')
    for (const headers of [{ 'x-stainless-retry-count': '1' }, undefined]) {
      const other = await create(fields, headers)
      expect(other.json.id, 'another video').to.be.a('string').and.not.equal(begun.json.id)
      await remove(other.json.id)
    }
    await gateway.startWorker()
    await until('all is refunded', async () => (await account.balance()) === 1000)
  })

  it('is refunded where its upstream has failed it by then', async () => {
    const prompt = prompted('[fail]')
    const begun = await create({ prompt })
    await until('it was sent', () => gateway.sandbox.billed(prompt).total === 1)
    await gateway.stopWorker()
    await until('it has failed', async () => {
      const { json } = await get(`${gateway.sandbox.url}/v1/videos`, 'sk-made-up')
      return json.data.find((one: { prompt: string }) => one.prompt === prompt).status === 'failed'
    })
    await changeCall(gateway.db, begun, { deleted_at: gateway.db.fn.now() })
    await gateway.startWorker()
    await until('it is ended', async () => (await gateway.record(begun)).finishedAt !== null)
    expect(await gateway.movements(begun)).to.deep.equal(['charge -250', 'refund 250'])
    await expectGone(begun)
  })

  it('gives whoever waits for it 410, and its Idempotency-Key too, and is not made again', async () => {
    const fields = { model: 'sandbox-video', prompt: prompted('[stuck]') }
    const headers = { 'idempotency-key': 'waits' }
    const waiting = account.post(VIDEOS, fields, headers)
    await until('it was sent', () => gateway.sandbox.billed(fields.prompt).total === 1)
    const { data } = (await get(at(), account.key)).json
    expect((await remove(data[0].id)).status).to.equal(200)
    const answer = await waiting
    expect(answer.status).to.equal(410)
    expect(answer.json.error.code).to.equal('result_expired')
    expect((await account.post(VIDEOS, fields, headers)).status).to.equal(410)
    expect((await create(fields, { 'x-stainless-retry-count': '1' })).json.id, 'another video').to.not.equal(data[0].id)
    expect(await gateway.movements(answer)).to.deep.equal(['charge -250'])
  })

  it('has exactly one outcome, whenever it is deleted while it is made', async () => {
    const begun = await Promise.all(Array.from({ length: 3 }, () => create({ prompt: prompted('[duration 0.5]') })))
    const ended = await Promise.all(
      begun.map(async (one, nth) => {
        await new Promise((resolve) => {
          setTimeout(resolve, 250 * nth + 300)
        })
        expect((await remove(one.json.id)).status).to.equal(200)
        return until('it is ended', async () => {
          const record = await gateway.record(one)
          return record.finishedAt !== null && record
        })
      }),
    )
    for (const [nth, one] of begun.entries()) {
      const charged = ['charge -250', ...(ended[nth]!.status === 'failed' ? ['refund 250'] : [])]
      expect(await gateway.movements(one)).to.deep.equal(charged)
    }
    const left = await gateway
      .db('call_results as r')
      .join('calls as c', 'c.id', 'r.call_id')
      .whereNotNull('c.deleted_at')
    expect(left).to.deep.equal([])
  })
})
