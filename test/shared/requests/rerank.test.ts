import { expect } from 'chai'
import fc from 'fast-check'
import { rerankKind } from '../../../src/api/v1/rerank.ts'
import type { RerankModel } from '../../../src/shared/catalogue/catalogue.ts'
import { expectFieldRefused } from './field-refusals.ts'
import { searchCost } from '../../../src/shared/terms/pricing.ts'
import { estimatedTokens, mostTokens, placesOf, searchesOf } from '../../../src/shared/requests/rerank.ts'

const PRICE = { perSearch: 3 }
const DOCUMENT_TOKENS = 100
const MODEL = {
  id: 'ranks',
  modality: 'rerank',
  price: PRICE,
  documentTokens: DOCUMENT_TOKENS,
} as unknown as RerankModel

/** What may leave for an upstream: nothing else could be billed. */
const SENT = new Set(['query', 'documents', 'top_n', 'max_tokens_per_doc', 'return_documents'])

const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.string({ minLength: 200, maxLength: 900 }))
const body = fc.record(
  {
    query: fc.oneof({ weight: 9, arbitrary: text }, { weight: 1, arbitrary: fc.anything() }),
    documents: fc.oneof(
      fc.array(text, { minLength: 1 }),
      fc.array(
        fc.oneof(
          text,
          text.map((one) => ({ text: one })),
        ),
        { minLength: 1, maxLength: 250, size: 'max' },
      ),
      fc.array(fc.oneof(text, fc.anything())),
      fc.anything(),
    ),
    top_n: fc.oneof(fc.nat(), fc.double(), fc.constant(null)),
    max_tokens_per_doc: fc.oneof(fc.nat(), fc.constant(null)),
    return_documents: fc.oneof(fc.boolean(), fc.constant(null), fc.string()),
    n: fc.anything(),
    chunks: fc.nat(),
  },
  { requiredKeys: ['query', 'documents'] },
)

describe('a request for a ranking', () => {
  it('is refused by the name of a field, or sent with what it is charged for and nothing else', () => {
    fc.assert(
      fc.property(body, (asked) => {
        try {
          const { request, charge, estimate } = rerankKind.parse({ model: 'ranks', ...asked }, MODEL)
          expect(Object.keys(request).every((name) => SENT.has(name))).to.equal(true)
          const documents = (asked.documents as (string | { text: string })[]).map((one) =>
            typeof one === 'string' ? one : one.text,
          )
          expect(request).to.deep.include({ query: asked.query, documents })
          expect(estimate).to.equal(null)
          expect(charge).to.equal(searchCost(PRICE, searchesOf(request, DOCUMENT_TOKENS)))
          expect(charge).to.be.at.least(PRICE.perSearch * Math.ceil(documents.length / 100))
          // What an upstream reads of tokens, by three bytes each, is paid for by the search.
          const read = estimatedTokens(request)
          expect(charge).to.be.at.least((PRICE.perSearch * read) / (100 * DOCUMENT_TOKENS))
          expect(placesOf(request)).to.be.within(1, documents.length)
        } catch (error) {
          expectFieldRefused(error)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('is a search for up to 100 documents, and one more for each further hundred', () => {
    const of = (count: number) => ({ query: 'q', documents: Array.from({ length: count }, () => 'a') })
    expect([1, 100, 101, 200, 201, 10_000].map((count) => searchesOf(of(count)))).to.deep.equal([1, 1, 2, 2, 3, 100])
  })

  it('counts a document as several once it has more tokens, with the query, than its model states', () => {
    const of = (bytes: number, query = 'q') => ({
      query,
      documents: [...Array.from({ length: 99 }, () => 'a'), 'x'.repeat(bytes)],
    })
    expect(searchesOf(of(3 * 499), 500)).to.equal(1)
    expect(searchesOf(of(3 * 500), 500)).to.equal(2)
    expect(searchesOf(of(3 * 400, 'q'.repeat(300)), 500)).to.equal(1)
    expect(searchesOf(of(3 * 401, 'q'.repeat(300)), 500)).to.equal(2)
    expect(searchesOf(of(3 * 4095))).to.equal(1)
    expect(searchesOf(of(3 * 4096))).to.equal(2)
  })

  it('reads the query with every document', () => {
    const request = { query: 'abc', documents: ['abc', 'abcd'] }
    expect(estimatedTokens(request)).to.equal(2 + 3)
    expect(mostTokens(request)).to.be.within(15, 60)
  })
})
