import { createCohere } from '@ai-sdk/cohere'
import { rerank } from 'ai'
import { expect } from 'chai'
import { RERANK, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const FUNDS = 10_000
const COMMON = { modality: 'rerank', pricing: { perSearch: 2 } }
const DOCUMENTS = ['a lighthouse by the sea', 'a red fox in snow', 'snow', 'a red car']

// What is refused: small-call-fields.test.ts. How it is listed: models.test.ts. What is read of answers: test/workers.
describe('POST /v1/rerank', () => {
  const gateway = useGateway({}, ({ models }) => {
    const like = (id: string, model: string, route: object) =>
      models.push({ id, ...COMMON, upstreams: [{ upstream: 'sandbox', model, ...route }] })
    like('jina', 'jina-sandbox', { cost: { perSearch: 100 } })
    like('untold', 'rerank-sandbox', { drop: ['top_n'] })
  })
  const account = useAccount(gateway, FUNDS)

  const rank = (more: object = {}) =>
    account.post(RERANK, { model: 'sandbox-rerank', query: prompted('red fox snow'), documents: DOCUMENTS, ...more })
  const places = ({ json }: { json: { results: { index: number }[] } }) => json.results.map(({ index }) => index)

  for (const model of ['sandbox-rerank', 'jina', 'untold'])
    it(`answers places of the caller's list, the best first, in the fields of Cohere and Jina (${model})`, async () => {
      const reply = await rank({ model, top_n: 1000 })
      expect(reply.status, reply.text).to.equal(200)
      const { results, meta, usage, ...more } = reply.json
      expect(more).to.deep.equal({ ok: true, id: publicId('call', callOf(reply)), model })
      expect(results[0]).to.have.all.keys('index', 'relevance_score')
      expect(places(reply)).to.deep.equal([1, 2, 3, 0])
      expect(meta).to.deep.equal({ billed_units: { search_units: 1 } })
      expect(usage).to.have.all.keys('total_tokens', 'credits', 'balance')
      expect(usage).to.include({ credits: 2, balance: FUNDS - 2 })
      expect(usage.total_tokens).to.be.above(0)
      expect(await gateway.movements(reply)).to.deep.equal(['charge -2'])
      expect(await gateway.record(reply)).to.include({ modality: 'rerank', credits: 2, status: 'succeeded' })
      const objects = DOCUMENTS.map((text) => ({ text }))
      const best = await rank({ model, documents: objects, top_n: 2, return_documents: true })
      expect(best.json.results.map(({ document }: { document: object }) => document)).to.deep.equal(objects.slice(1, 3))
    })

  it("serves the AI SDK with Cohere's provider", async () => {
    const cohere = createCohere({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
    const asked = { query: prompted('red fox snow'), documents: DOCUMENTS, topN: 2 }
    const { ranking, rerankedDocuments } = await rerank({ model: cohere.reranking('sandbox-rerank'), ...asked })
    expect(ranking.map(({ originalIndex }) => originalIndex)).to.deep.equal([1, 2])
    expect(rerankedDocuments).to.deep.equal([DOCUMENTS[1], DOCUMENTS[2]])
  })

  it('costs its operator what its upstream reports, and tells its tokens as far as they can be true', async () => {
    const reply = await rank({ model: 'jina', query: prompted('[usage 12 0]'), documents: Array(201).fill('a') })
    const calls = gateway.db('calls').where({ id: callOf(reply) })
    expect([reply.json.usage.total_tokens, await calls.pluck('cost_micro_usd')]).to.deep.equal([12, [300]])
    for (const words of ['[usage-huge]', '[no-usage]', '[usage-negative]']) {
      const { json } = await rank({ model: 'jina', query: prompted(words), documents: ['abc'] })
      expect(json.usage.total_tokens, words).to.be.within(5, 40)
    }
  })
})
