import { createCohere } from '@ai-sdk/cohere'
import { rerank } from 'ai'
import { expect } from 'chai'
import { RERANK, callOf, prompted } from '../../../scripts/harness/calling.ts'
import { publicId } from '../../../src/shared/platform/ids.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const FUNDS = 10_000
const DOCUMENTS = ['a lighthouse by the sea', 'a red fox in snow', 'snow', 'a red car']

describe('POST /v1/rerank', () => {
  const gateway = useGateway({}, ({ models }) => {
    const at = (name: string, more: object = {}) => [{ upstream: 'sandbox', model: name, ...more }]
    const common = { modality: 'rerank', pricing: { perSearch: 2 } }
    models.push(
      { id: 'jina', ...common, upstreams: at('jina-sandbox', { cost: { perSearch: 100 } }) },
      { id: 'by-500', ...common, documentTokens: 500, upstreams: at('rerank-sandbox', { cost: { perSearch: 100 } }) },
      { id: 'untold', ...common, upstreams: at('rerank-sandbox', { drop: ['top_n'] }) },
    )
  })
  const account = useAccount(gateway, FUNDS)

  const rank = (more: object = {}, headers: Record<string, string> = {}) =>
    account.post(
      RERANK,
      { model: 'sandbox-rerank', query: prompted('red fox snow'), documents: DOCUMENTS, ...more },
      headers,
    )
  const places = ({ json }: { json: { results: { index: number }[] } }) => json.results.map(({ index }) => index)

  for (const model of ['sandbox-rerank', 'jina', 'untold']) {
    it(`answers places of the caller's list, the best first, in the fields of Cohere and Jina (${model})`, async () => {
      const reply = await rank({ model })
      expect(reply.status, reply.text).to.equal(200)
      const { ok, id, model: named, results, meta, usage } = reply.json
      expect({ ok, id, named }).to.deep.equal({ ok: true, id: publicId('call', callOf(reply)), named: model })
      expect(results[0]).to.have.all.keys('index', 'relevance_score')
      expect(places(reply)).to.deep.equal([1, 2, 3, 0])
      expect(meta).to.deep.equal({ billed_units: { search_units: 1 } })
      expect(usage).to.have.all.keys('total_tokens', 'credits', 'balance')
      expect(usage).to.include({ credits: 2, balance: FUNDS - 2 })
      expect(usage.total_tokens).to.be.above(0)
      expect(await gateway.movements(reply)).to.deep.equal(['charge -2'])
      expect(await gateway.record(reply)).to.include({ modality: 'rerank', credits: 2, status: 'succeeded' })
      const best = await rank({ model, top_n: 2, return_documents: true })
      expect(best.json.results.map(({ document }: { document: object }) => document)).to.deep.equal([
        { text: DOCUMENTS[1] },
        { text: DOCUMENTS[2] },
      ])
    })
  }

  it('answers all where more are asked for than there are documents, by the places of the list', async () => {
    expect(places(await rank({ top_n: 1000 }))).to.deep.equal([1, 2, 3, 0])
  })

  it('takes documents as objects with a text', async () => {
    const objects = DOCUMENTS.map((text) => ({ text }))
    const reply = await rank({ documents: objects, return_documents: true, top_n: 1 })
    expect(reply.json.results[0]).to.deep.include({ index: 1, document: { text: DOCUMENTS[1] } })
  })

  it("serves the AI SDK with Cohere's provider", async () => {
    const cohere = createCohere({ baseURL: `${gateway.url}/v1`, apiKey: account.key })
    const answer = await rerank({
      model: cohere.reranking('sandbox-rerank'),
      query: prompted('red fox snow'),
      documents: DOCUMENTS,
      topN: 2,
    })
    expect(answer.ranking.map(({ originalIndex }) => originalIndex)).to.deep.equal([1, 2])
    expect(answer.rerankedDocuments).to.deep.equal([DOCUMENTS[1], DOCUMENTS[2]])
  })

  it('is charged a search for each hundred documents that was begun', async () => {
    const of = (count: number) => ({ documents: Array.from({ length: count }, () => 'a') })
    for (const [count, credits] of [
      [1, 2],
      [100, 2],
      [101, 4],
      [250, 6],
    ] as const) {
      const reply = await rank({ ...of(count), top_n: 1 })
      expect(reply.json.usage.credits, `${count}`).to.equal(credits)
      expect(reply.json.meta.billed_units.search_units).to.equal(credits / 2)
      const body = { model: 'sandbox-rerank', query: 'a', ...of(count) }
      const quote = await account.post('/v1/quotes', { endpoint: RERANK, body })
      expect(quote.json).to.include({ credits, minimum: credits, maximum: credits })
    }
  })

  it('counts a long document as several, by the tokens that its model states', async () => {
    const long = 'x'.repeat(150_000)
    expect((await rank({ model: 'by-500', documents: [long, 'a'] })).json.usage.credits).to.equal(4)
    expect((await rank({ documents: [long, 'a'] })).json.usage.credits).to.equal(2)
  })

  it('costs its operator the searches that the upstream reports', async () => {
    const documents = Array.from({ length: 201 }, () => 'a')
    const costOf = async (model: string) => {
      const row = await gateway
        .db('calls')
        .where({ id: callOf(await rank({ model, documents })) })
        .first<{ cost_micro_usd: number }>('cost_micro_usd')
      return row.cost_micro_usd
    }
    expect([await costOf('by-500'), await costOf('jina')]).to.deep.equal([300, 300])
  })

  it('tells the tokens that the upstream reports, as far as they can be true', async () => {
    const tokens = async (words: string) => {
      const reply = await rank({ model: 'jina', query: prompted(words), documents: ['abc'] })
      return reply.json.usage.total_tokens
    }
    expect(await tokens('[usage 12 0]')).to.equal(12)
    for (const words of ['[usage-huge]', '[no-usage]', '[usage-negative]']) {
      expect(await tokens(words), words).to.be.within(5, 40)
    }
  })

  it('refuses a missing model, and models of other kinds', async () => {
    for (const model of [undefined, null, '', 'sandbox-embedding', 7]) {
      expect((await rank({ model })).json.error).to.include({ code: 'unsupported_model', param: 'model' })
    }
  })

  it('is listed with its price and where it is called', async () => {
    const { json } = await account.get('/v1/models/by-500')
    expect(json).to.deep.include({
      modality: 'rerank',
      credits: 2,
      pricing: { perSearch: 2 },
      documentTokens: 500,
      context_length: 0,
      supported_endpoints: [RERANK],
      architecture: { input_modalities: ['text'], output_modalities: ['rerank'] },
    })
  })
})
