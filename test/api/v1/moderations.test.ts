import { expect } from 'chai'
import OpenAI from 'openai'
import { MODERATIONS, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { startWorker } from '../../../src/workers/worker.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const FUNDS = 1000

// What is refused: small-call-fields.test.ts. How it is listed: models.test.ts. Other results: test/workers/upstreams.
describe('POST /v1/moderations', () => {
  const gateway = useGateway({}, ({ models, upstreams }) => {
    upstreams.fetching = { ...upstreams.sandbox, fetchImages: true }
    const at = (id: string, upstream: string) => {
      const upstreams = [{ upstream, model: 'moderation-sandbox' }]
      return { id, modality: 'moderation', credits: 3, upstreams }
    }
    models.unshift(at('unavailable', 'unconfigured'))
    models.push(at('paid', 'sandbox'), at('fetching', 'fetching'))
  })
  const account = useAccount(gateway, FUNDS)

  const moderate = (input: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    account.post(MODERATIONS, { model: 'paid', input, ...more }, headers)
  const picture = (url: string) => ({ type: 'image_url', image_url: { url } })

  it('judges a text, and charges the price of its model', async () => {
    const reply = await moderate(prompted('violence'))
    expect(reply.status, reply.text).to.equal(200)
    const { results, usage, ...more } = reply.json
    expect(more).to.deep.equal({ ok: true, id: publicId('call', callOf(reply)), model: 'paid' })
    expect(results).to.have.length(1)
    expect(results[0]).to.have.all.keys('flagged', 'categories', 'category_scores', 'category_applied_input_types')
    expect(results[0].flagged).to.equal(true)
    expect(results[0].categories).to.include({ violence: true, hate: false })
    expect(usage).to.include({ credits: 3, balance: FUNDS - 3 })
    expect(await gateway.movements(reply)).to.deep.equal(['charge -3'])
    const record = await gateway.record(reply)
    expect(record).to.include({ modality: 'moderation', status: 'succeeded', credits: 3, inputTokens: null })
  })

  it("serves OpenAI's own SDK, which names no model: the first that the key may call is taken", async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
    const { model, results } = await client.moderations.create({ input: prompted('self-harm') })
    expect(model).to.equal('sandbox-moderation')
    expect([results[0]!.flagged, results[0]!.categories['self-harm']]).to.deep.equal([true, true])
    await changeKey(gateway.db, account.keyId, { models: ['paid'] })
    expect((await client.moderations.create({ input: prompted() })).model).to.equal('paid')
    await changeKey(gateway.db, account.keyId, { models: null, modalities: ['chat'] })
    const refused = await moderate('a', { model: undefined })
    expect(refused.json.error).to.include({ code: 'unsupported_model', param: 'model' })
  })

  it('costs nothing where the model is free, and then leaves no ledger entry', async () => {
    const free = { model: 'sandbox-moderation' }
    const reply = await moderate(prompted(), free)
    expect(reply.json.usage).to.include({ credits: 0, balance: FUNDS })
    expect(await gateway.record(reply)).to.include({ status: 'succeeded', credits: 0, creditsPrecharged: 0 })
    const failed = await moderate(prompted('[fail]'), free)
    expect(failed.status).to.equal(502)
    for (const one of [reply, failed]) expect(await gateway.movements(one)).to.deep.equal([])
    const penniless = await gateway.account()
    expect((await penniless.post(MODERATIONS, { input: 'a', ...free })).status).to.equal(200)
  })

  it('is refused although it is free: in debt, over a budget of 0, and without a model of its kind', async () => {
    const codeOf = async (model: unknown): Promise<string> => (await moderate('a', { model })).json.error.code
    await gateway.db('accounts').where({ id: account.id }).update({ debt: 1 })
    expect(await codeOf('sandbox-moderation')).to.equal('insufficient_credits')
    await gateway.db('accounts').where({ id: account.id }).update({ debt: 0 })
    await changeKey(gateway.db, account.keyId, { budget: { credits: 0, period: 'total' } })
    expect(await codeOf('sandbox-moderation')).to.equal('key_budget_exceeded')
    await changeKey(gateway.db, account.keyId, { budget: null })
    for (const model of ['sandbox-chat', 'nothing', '', 7]) expect(await codeOf(model)).to.equal('unsupported_model')
    expect(await codeOf('unavailable')).to.equal('upstream_unavailable')
    expect(await account.counts()).to.include({ charged: 0 })
  })

  it('looks its pictures up like those of chats: what leads inside ends the call, refunded', async () => {
    await gateway.stopWorker()
    const resolver = async () => [{ address: '127.0.0.1', family: 4 as const }]
    const worker = await startWorker(gateway.config, createLog('error', 'worker'), 500, { resolver })
    try {
      for (const model of ['paid', 'fetching']) {
        const reply = await moderate([picture('http://inside.example/a.png')], { model })
        expect(reply.status, reply.text).to.equal(502)
        expect(reply.json.error.message).to.match(/^image_url: The image could not be fetched/)
        expect(await gateway.movements(reply)).to.deep.equal(['charge -3', 'refund 3'])
      }
    } finally {
      await worker.stop()
      await gateway.startWorker()
    }
  })
})
