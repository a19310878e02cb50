import { expect } from 'chai'
import OpenAI from 'openai'
import { MODERATIONS, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const FUNDS = 1000

describe('POST /v1/moderations', () => {
  const gateway = useGateway({}, ({ models, upstreams }) => {
    const at = (upstream: string, name = 'moderation-sandbox') => [{ upstream, model: name }]
    upstreams.fetching = { ...upstreams.sandbox, fetchImages: true }
    models.unshift({ id: 'unavailable', modality: 'moderation', credits: 3, upstreams: at('unconfigured') })
    models.push(
      { id: 'paid', modality: 'moderation', credits: 3, upstreams: at('sandbox') },
      { id: 'fetching', modality: 'moderation', credits: 3, upstreams: at('fetching') },
    )
  })
  let account: Caller
  beforeEach(async () => {
    account = await gateway.account(FUNDS)
  })

  const moderate = (input: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    account.post(MODERATIONS, { model: 'paid', input, ...more }, headers)

  it('judges a text, and charges the price of its model', async () => {
    const reply = await moderate(prompted('violence'))
    expect(reply.status, reply.text).to.equal(200)
    const { ok, id, model, results, usage } = reply.json
    expect({ ok, id, model }).to.deep.equal({ ok: true, id: publicId('call', callOf(reply)), model: 'paid' })
    expect(results).to.have.length(1)
    expect(results[0]).to.have.all.keys('flagged', 'categories', 'category_scores', 'category_applied_input_types')
    expect(results[0].flagged).to.equal(true)
    expect(results[0].categories).to.include({ violence: true, hate: false })
    expect(usage).to.include({ credits: 3, balance: FUNDS - 3 })
    expect(await gateway.movements(reply)).to.deep.equal(['charge -3'])
    const record = await gateway.record(reply)
    expect(record).to.include({ modality: 'moderation', status: 'succeeded', credits: 3, inputTokens: null })
  })

  it('gives each of several texts a result, in their order', async () => {
    const { json } = await moderate([prompted('a fox'), 'hate', 'a lighthouse'])
    expect(json.results.map(({ flagged }: { flagged: boolean }) => flagged)).to.deep.equal([false, true, false])
    expect(json.usage.credits).to.equal(3)
  })

  it('judges parts together, pictures too', async () => {
    const parts = [
      { type: 'text', text: prompted('violence') },
      { type: 'image_url', image_url: { url: PIXEL_URI } },
    ]
    const { json, text } = await moderate(parts)
    expect(json.results, text).to.have.length(1)
    expect(json.results[0].category_applied_input_types.violence).to.deep.equal(['text', 'image'])
  })

  it("serves OpenAI's own SDK, which names no model: the first that the key may call is taken", async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
    const answer = await client.moderations.create({ input: prompted('self-harm') })
    expect(answer.model).to.equal('sandbox-moderation')
    expect(answer.results[0]!.flagged).to.equal(true)
    expect(answer.results[0]!.categories['self-harm']).to.equal(true)
    await changeKey(gateway.db, account.keyId, { models: ['paid'] })
    expect((await client.moderations.create({ input: prompted() })).model).to.equal('paid')
    await changeKey(gateway.db, account.keyId, { models: null, modalities: ['chat'] })
    const refused = await moderate('a', { model: undefined })
    expect(refused.json.error).to.include({ code: 'unsupported_model', param: 'model' })
  })

  it('costs nothing where the model is free, and then leaves no ledger entry', async () => {
    const reply = await moderate(prompted(), { model: 'sandbox-moderation' })
    expect(reply.json.usage).to.include({ credits: 0, balance: FUNDS })
    expect(await gateway.movements(reply)).to.deep.equal([])
    expect(await gateway.record(reply)).to.include({ status: 'succeeded', credits: 0, creditsPrecharged: 0 })
    const failed = await moderate(prompted('[fail]'), { model: 'sandbox-moderation' })
    expect(failed.status).to.equal(502)
    expect(await gateway.movements(failed)).to.deep.equal([])
    account = await gateway.account()
    expect((await moderate(prompted(), { model: 'sandbox-moderation' })).status, 'without credits').to.equal(200)
  })

  it('is refused although it is free: in debt, over a budget of 0, and without a model of its kind', async () => {
    const free = (body: object = {}) => moderate(prompted(), { model: 'sandbox-moderation', ...body })
    await gateway.db('accounts').where({ id: account.id }).update({ debt: 1 })
    const owing = await free()
    expect([owing.status, owing.json.error.code], owing.text).to.deep.equal([402, 'insufficient_credits'])
    await gateway.db('accounts').where({ id: account.id }).update({ debt: 0 })
    await changeKey(gateway.db, account.keyId, { budget: { credits: 0, period: 'total' } })
    expect((await free()).json.error.code).to.equal('key_budget_exceeded')
    await changeKey(gateway.db, account.keyId, { budget: null })
    for (const model of ['sandbox-chat', 'nothing', '', 7]) {
      expect((await moderate('a', { model })).json.error).to.include({ code: 'unsupported_model', param: 'model' })
    }
    expect((await moderate('a', { model: 'unavailable' })).json.error.code).to.equal('upstream_unavailable')
    expect(await account.counts()).to.include({ charged: 0 })
  })

  it('is stored: it can be fetched again, and its retry is not charged again', async () => {
    const headers = { 'idempotency-key': prompted() }
    const input = prompted()
    const first = await moderate(input, {}, headers)
    const again = await moderate(input, {}, headers)
    expect([again.text, again.headers.get('idempotent-replayed')]).to.deep.equal([first.text, 'true'])
    const fetched = await account.get(`/v1/calls/${publicId('call', callOf(first))}`)
    expect(fetched.text).to.equal(first.text)
    const accepted = await moderate(prompted(), {}, { prefer: 'respond-async' })
    expect(accepted.status).to.equal(202)
    const later = await account.get(`${accepted.headers.get('location')}?wait=10`)
    expect(later.json.results).to.have.length(1)
    expect(await account.balance()).to.equal(FUNDS - 6)
  })

  it('is quoted at what it is charged', async () => {
    const ask = (body: object) => account.post('/v1/quotes', { endpoint: MODERATIONS, body: { input: 'a', ...body } })
    expect((await ask({ model: 'paid' })).json).to.include({ credits: 3, minimum: 3, maximum: 3, affordable: true })
    expect((await ask({})).json).to.include({ model: 'sandbox-moderation', credits: 0, affordable: true })
  })

  const picture = (url: unknown) => [{ type: 'image_url', image_url: { url } }]

  it('looks its pictures up like those of chats: what leads inside ends the call, refunded', async () => {
    await gateway.stopWorker()
    const resolver = async () => [{ address: '127.0.0.1', family: 4 as const }]
    const worker = await startWorker(gateway.config, createLog('error', 'worker'), 500, { resolver })
    try {
      for (const model of ['paid', 'fetching']) {
        const reply = await moderate(picture('http://inside.example/a.png'), { model })
        expect(reply.status, reply.text).to.equal(502)
        expect(reply.json.error.message).to.match(/^image_url: The image could not be fetched/)
        expect(await gateway.movements(reply)).to.deep.equal(['charge -3', 'refund 3'])
      }
    } finally {
      await worker.stop()
      await gateway.startWorker()
    }
  })

  it('is listed with its price and where it is called', async () => {
    const { json } = await account.get('/v1/models/paid')
    expect(json).to.deep.include({
      modality: 'moderation',
      credits: 3,
      context_length: 0,
      supported_endpoints: [MODERATIONS],
      architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
    })
    expect(json).not.to.have.property('pricing')
  })
})
