import { expect } from 'chai'
import { callOf, prompted, VIDEOS, changeCall } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get } from '../../../scripts/harness/http.ts'
import { eventually, until } from '../../../scripts/harness/until.ts'
import { addVideos } from './support/video-models.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const PAID = ['charge -250']
const REFUNDED = ['charge -250', 'refund 250']

describe('a video that is deleted', () => {
  const gateway = useGateway({}, addVideos)
  const account = useAccount(gateway, 1000)

  const at = (path = ''): string => `/v1/videos${path}`
  const create = (fields: object = {}, headers?: Record<string, string>): Promise<Reply> =>
    account.post(at(), { model: 'sandbox-video', prompt: prompted(), ...fields }, headers)
  const remove = (id: string): Promise<Reply> => account.send('DELETE', at(`/${id}`))
  const untilIt = (is: string, id: string) =>
    until(`the video is ${is}`, async () => (await account.get(at(`/${id}`))).json.status === is)
  const sent = (prompt: string) => until('it was sent', () => gateway.sandbox.billed(prompt).total === 1)
  const ended = (begun: Reply) =>
    until('it is ended', async () => {
      const record = await gateway.record(begun)
      return record.finishedAt !== null && record
    })

  /** Expects nothing to be left of a video but the record of its call, and what was paid. */
  async function expectGone(begun: Reply, moved: string[]): Promise<void> {
    const { id } = begun.json
    for (const path of [`/${id}`, `/${id}/content`]) expect((await account.get(at(path))).status, path).to.equal(404)
    expect((await remove(id)).status, 'a second deletion').to.equal(404)
    expect((await account.get(at())).json.data).to.deep.equal([])
    const stored = await gateway.db('call_results').where({ call_id: callOf(begun) })
    expect(stored, 'a result').to.deep.equal([])
    expect((await account.get(`/v1/calls/${begun.headers.get('x-call-id')}`)).status).to.equal(410)
    expect(await gateway.movements(begun)).to.deep.equal(moved)
    expect(await account.balance()).to.equal(moved === PAID ? 750 : 1000)
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
    await expectGone(begun, PAID)
    await eventually(async () => {
      expect((await get(file)).status).to.equal(404)
      expect(await gateway.record(begun)).to.include({ status: 'succeeded', credits: 250, resultUrl: null })
    })
  })

  it('is refunded and never sent where no worker has begun it, and where the web process died then', async () => {
    for (const isLost of [false, true]) {
      await gateway.stopWorker()
      const prompt = prompted()
      const begun = await create({ prompt })
      if (isLost) await changeCall(gateway.db, begun, { deleted_at: gateway.db.fn.now() })
      else {
        expect((await remove(begun.json.id)).status).to.equal(200)
        expect(await account.balance()).to.equal(1000)
      }
      await gateway.startWorker()
      await until('it is refunded', async () => (await account.balance()) === 1000)
      expect(gateway.sandbox.billed(prompt).total).to.equal(0)
      await expectGone(begun, REFUNDED)
    }
  })

  it('is refunded while it waits for its upstream, and is never sent', async () => {
    const [first, second] = [prompted('[delay 5000]'), prompted()]
    await create({ model: 'narrow-video', prompt: first })
    await until('the only place is taken', () => gateway.sandbox.open(first).open === 1)
    const waiting = await create({ model: 'narrow-video', prompt: second })
    await untilIt('in_progress', waiting.json.id)
    expect((await remove(waiting.json.id)).status).to.equal(200)
    expect(await gateway.movements(waiting)).to.deep.equal(REFUNDED)
    expect(gateway.sandbox.billed(second).total).to.equal(0)
  })

  for (const [model, words] of [
    ['sandbox-video', '[stuck]'],
    ['queue-video', '[stuck]'],
    ['sandbox-video', '[delay 1500] [stuck]'],
  ] as const)
    it(`is cancelled at its upstream, and costs its price, once it was or is sent: ${model} ${words}`, async () => {
      const prompt = prompted(words)
      const begun = await create({ model, prompt })
      if (words === '[stuck]') await sent(prompt)
      else await until('it is being sent', () => gateway.sandbox.open(prompt).open === 1)
      expect((await remove(begun.json.id)).status).to.equal(200)
      expect(await ended(begun)).to.include({ status: 'succeeded', credits: 250, resultUrl: null })
      expect(gateway.sandbox.billed(prompt).entries[0]!.outcome).to.equal('cancelled')
      await expectGone(begun, PAID)
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
    await sent(prompt)
    await gateway.stopWorker()
    await until('it has failed', async () => {
      const { json } = await get(`${gateway.sandbox.url}/v1/videos`, 'sk-made-up')
      return json.data.find((one: { prompt: string }) => one.prompt === prompt).status === 'failed'
    })
    await changeCall(gateway.db, begun, { deleted_at: gateway.db.fn.now() })
    await gateway.startWorker()
    await ended(begun)
    await expectGone(begun, REFUNDED)
  })

  it('gives 410 to those who wait for it, and to its Idempotency-Key, and is not made again', async () => {
    const fields = { model: 'sandbox-video', prompt: prompted('[stuck]') }
    const asking = () => account.post(VIDEOS, fields, { 'idempotency-key': 'waits' })
    const waiting = asking()
    await sent(fields.prompt)
    const [{ id }] = (await account.get(at())).json.data
    expect((await remove(id)).status).to.equal(200)
    const answer = await waiting
    expect([answer.status, answer.json.error.code]).to.deep.equal([410, 'result_expired'])
    expect((await asking()).status).to.equal(410)
    expect((await create(fields, { 'x-stainless-retry-count': '1' })).json.id, 'another video').to.not.equal(id)
    expect(await gateway.movements(answer)).to.deep.equal(PAID)
  })
})
