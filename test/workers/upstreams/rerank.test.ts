import { expect } from 'chai'
import fc from 'fast-check'
import type { RerankRequest } from '../../../src/shared/requests/rerank.ts'
import type { FailureKind, RerankAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { createOpenaiRerank } from '../../../src/workers/upstreams/openai/rerank.ts'
import type { UpstreamHttp, UpstreamRequest } from '../../../src/workers/upstreams/http.ts'
import { failureOf, promptOf, startWorld } from './sandbox-upstreams.ts'
import type { World } from './sandbox-upstreams.ts'

const FAILURES: [words: string, kind: FailureKind][] = [
  ['[status 400]', 'rejected'],
  ['[quota]', 'not_served'],
  ['[status 429]', 'rate_limited'],
  ['[status 503]', 'overloaded'],
  ['[fail]', 'unknown'],
  ['[reset]', 'unknown'],
  ['[garbage]', 'unknown'],
  ['[truncated]', 'unknown'],
  ['[empty]', 'unknown'],
]

describe('rankings over openai', () => {
  let world: World
  let rank: RerankAdapter
  before(async () => {
    world = await startWorld()
    rank = world.upstreams.askingAdapterOf(world.context('openai').route, 'rerank')
  })
  after(() => world.close())

  const asking = (documents: string[], more: Partial<RerankRequest> = {}): RerankRequest => ({
    query: 'q',
    documents,
    return_documents: false,
    ...more,
  })

  /** What comes of an answer, and what was sent for it. */
  async function answered(answer: object, request = asking(['a', 'b', 'c'])) {
    const sent: UpstreamRequest[] = []
    const json = async (one: UpstreamRequest) => {
      sent.push(one)
      return answer
    }
    return {
      made: await createOpenaiRerank({ json } as unknown as UpstreamHttp)(request, world.context('openai')),
      sent,
    }
  }

  it('send what is asked for, but for the documents that are wanted back', async () => {
    const request = asking(['a', 'b'], { top_n: 1, max_tokens_per_doc: 9, return_documents: true })
    const { sent } = await answered({ results: [{ index: 0, relevance_score: 1 }] }, request)
    const { model } = world.context('openai').route
    const json = { query: 'q', documents: ['a', 'b'], top_n: 1, max_tokens_per_doc: 9, model }
    expect(sent.map(({ path, body }: UpstreamRequest & { path?: string }) => [path, body])).to.deep.equal([
      ['/rerank', { json }],
    ])
  })

  it("read Cohere's answers, Jina's and those of servers like them, the best first", async () => {
    const places = [
      { index: 2, relevance_score: 0.1 },
      { index: 0, relevance_score: 0.9 },
      { index: 1, relevance_score: 0.9 },
    ]
    const results = [places[1], places[2], places[0]]
    const cohere = {
      id: 'x',
      results: places,
      meta: { billed_units: { search_units: 3 }, tokens: { input_tokens: 8 } },
    }
    expect((await answered(cohere)).made).to.deep.equal({ results, tokens: 8, searches: 3 })
    const jina = { results: places.map((one) => ({ ...one, document: { text: 'x' } })), usage: { total_tokens: 7 } }
    expect((await answered(jina)).made).to.deep.equal({ results, tokens: 7, searches: null })
    const other = { data: places.map(({ index, relevance_score: score }) => ({ index, score })) }
    expect((await answered(other)).made).to.deep.equal({ results, tokens: null, searches: null })
  })

  it('are cut to as many as were asked for', async () => {
    const results = [0, 1, 2].map((index) => ({ index, relevance_score: index }))
    const { made } = await answered({ results }, asking(['a', 'b', 'c'], { top_n: 2 }))
    expect(made.results.map(({ index }) => index)).to.deep.equal([2, 1])
  })

  it("are places of the caller's list, each once, or fail, whatever the upstream answers", async () => {
    const place = fc.record(
      {
        index: fc.oneof(fc.integer({ min: -1, max: 4 }), fc.constantFrom('0', 1.5, null)),
        relevance_score: fc.oneof(fc.double(), fc.constantFrom('1', null)),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(place, { maxLength: 5 }), fc.anything()), async (results) => {
        try {
          const { made } = await answered({ results })
          expect(made.results.map(({ index }) => index).toSorted((a, b) => a - b)).to.deep.equal([0, 1, 2])
          const scores = made.results.map(({ relevance_score: score }) => score)
          expect(scores.every(Number.isFinite)).to.equal(true)
          expect(scores).to.deep.equal(scores.toSorted((a, b) => b - a))
        } catch (error) {
          if (!(error instanceof UpstreamError)) throw error
          expect(error.kind).to.equal('unknown')
        }
      }),
      { numRuns: 1000 },
    )
  })

  for (const [what, results] of [
    ['a place that is none of the list', [0, 1, 3]],
    ['a place twice', [0, 1, 1]],
    ['too few places', [0, 1]],
  ] as const) {
    it(`fail where the upstream answers ${what}`, async () => {
      const asked = answered({ results: results.map((index) => ({ index, relevance_score: 1 })) })
      expect((await failureOf(asked)).kind).to.equal('unknown')
    })
  }

  for (const [words, kind] of FAILURES) {
    it(`fail as ${kind} where the upstream does ${words}`, async () => {
      const asked = rank(asking(['a'], { query: promptOf(words) }), world.context('openai'))
      expect((await failureOf(asked)).kind).to.equal(kind)
    })
  }
})
