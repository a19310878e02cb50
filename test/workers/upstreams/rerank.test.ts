import { expect } from 'chai'
import fc from 'fast-check'
import type { RerankRequest } from '../../../src/shared/requests/rerank.ts'
import type { RerankAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { startAnsweringUpstream } from './answering-upstream.ts'
import type { AnsweringUpstream } from './answering-upstream.ts'
import { FAILURES, failureOf, promptOf, startWorld } from './sandbox-upstreams.ts'
import type { World } from './sandbox-upstreams.ts'

describe('rankings over openai', () => {
  let world: World
  let upstream: AnsweringUpstream
  let rank: RerankAdapter
  before(async () => {
    ;[world, upstream] = await Promise.all([startWorld(), startAnsweringUpstream()])
    rank = world.upstreams.adapterFor(world.context('openai').route, 'rerank')
  })
  after(() => Promise.all([world.close(), upstream.close()]))

  const asking = (documents: string[], more: Partial<RerankRequest> = {}): RerankRequest => ({
    query: 'q',
    documents,
    return_documents: false,
    ...more,
  })

  /** What comes of an answer. */
  function answered(answer: object, request = asking(['a', 'b', 'c'])) {
    upstream.answer = answer
    return rank(request, world.context('openai', { upstream: { baseUrl: upstream.baseUrl } }))
  }

  it('send what is asked for, but for the documents that are wanted back', async () => {
    const request = asking(['a', 'b'], { top_n: 1, max_tokens_per_doc: 9, return_documents: true })
    await answered({ results: [{ index: 0, relevance_score: 1 }] }, request)
    const { model } = world.context('openai').route
    const body = { query: 'q', documents: ['a', 'b'], top_n: 1, max_tokens_per_doc: 9, model }
    expect(upstream.asked).to.deep.equal({ path: '/rerank', body })
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
    expect(await answered(cohere)).to.deep.equal({ results, tokens: 8, searches: 3 })
    const jina = { results: places.map((one) => ({ ...one, document: { text: 'x' } })), usage: { total_tokens: 7 } }
    expect(await answered(jina)).to.deep.equal({ results, tokens: 7, searches: null })
    const other = { data: places.map(({ index, relevance_score: score }) => ({ index, score })) }
    expect(await answered(other)).to.deep.equal({ results, tokens: null, searches: null })
  })

  it('are cut to as many as were asked for', async () => {
    const results = [0, 1, 2].map((index) => ({ index, relevance_score: index }))
    const made = await answered({ results }, asking(['a', 'b', 'c'], { top_n: 2 }))
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
    const whole = fc
      .tuple(fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), fc.array(fc.double(), { minLength: 3 }))
      .map(([order, scores]) => order.map((index, nth) => ({ index, relevance_score: scores[nth]! })))
    let read = 0
    await fc.assert(
      fc.asyncProperty(fc.oneof(whole, fc.array(place, { maxLength: 5 }), fc.anything()), async (results) => {
        try {
          const made = await answered({ results })
          expect(made.results.map(({ index }) => index).toSorted((a, b) => a - b)).to.deep.equal([0, 1, 2])
          const scores = made.results.map(({ relevance_score: score }) => score)
          expect(scores.every(Number.isFinite)).to.equal(true)
          expect(scores).to.deep.equal(scores.toSorted((a, b) => b - a))
          read += 1
        } catch (error) {
          if (!(error instanceof UpstreamError)) throw error
          expect(error.kind).to.equal('unknown')
        }
      }),
      { numRuns: 1000 },
    )
    expect(read).to.be.above(100)
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
