import { expect } from 'chai'
import fc from 'fast-check'
import { embeddingKind } from '../../../src/api/v1/embeddings.ts'
import type { EmbeddingModel } from '../../../src/shared/catalogue/catalogue.ts'
import { expectFieldRefused } from './field-refusals.ts'
import { heldTokens, mostInputs, mostTokens } from '../../../src/shared/requests/embeddings.ts'
import { chatCost } from '../../../src/shared/terms/pricing.ts'

const PRICE = { input: 3, perTokens: 7, minimum: 2 }
const MODEL = {
  id: 'vectors',
  modality: 'embedding',
  price: PRICE,
  upstreams: [],
  routes: [],
} as unknown as EmbeddingModel

/** What may leave for an upstream: nothing else could be billed. */
const SENT = new Set(['input', 'encoding_format', 'dimensions', 'user'])

const part = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.array(fc.nat()), fc.anything())
/** Of many fields, one that is bad is enough for a refusal. */
const seldom = (bad: fc.Arbitrary<unknown>) => fc.option(bad, { freq: 1, nil: undefined })
const body = fc.record(
  {
    input: fc.oneof(
      fc.string(),
      fc.array(fc.nat()),
      fc.array(fc.string()),
      fc.array(fc.array(fc.nat())),
      fc.array(part),
    ),
    encoding_format: fc.constantFrom('float', 'base64', 'int8', null),
    dimensions: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(null, 8, 16) }, fc.nat(), fc.double()),
    user: fc.oneof(fc.string(), fc.anything()),
    n: seldom(fc.anything()),
    service_tier: seldom(fc.string()),
    texts: seldom(fc.array(fc.string())),
  },
  { requiredKeys: ['input'] },
)

describe('a request for embeddings', () => {
  it('is refused by the name of a field, or sent with what it is charged for and nothing else', () => {
    fc.assert(
      fc.property(body, (asked) => {
        try {
          const { request, charge, estimate } = embeddingKind.parse({ model: 'vectors', ...asked }, MODEL)
          expect(Object.keys(request).every((name) => SENT.has(name))).to.equal(true)
          expect(request.input).to.deep.equal(asked.input)
          expect(estimate).to.deep.equal({ input: heldTokens(request.input), output: 0 })
          expect(charge).to.equal(chatCost(PRICE, { input: heldTokens(request.input), output: 0 }))
        } catch (error) {
          expectFieldRefused(error)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('counts listed tokens exactly, and a text by three bytes, at least one token each', () => {
    expect(heldTokens([1, 2, 3])).to.equal(3)
    expect(heldTokens([[1], [2, 3]])).to.equal(3)
    expect(heldTokens('abc')).to.equal(1)
    expect(heldTokens(['a', 'b', 'abcd'])).to.equal(4)
    expect(heldTokens('你')).to.equal(1)
    expect(heldTokens('你a')).to.equal(2)
  })

  it('can have no more tokens than were listed, and of a text none beyond three times its charge', () => {
    expect(mostTokens([[1], [2, 3]])).to.equal(3)
    expect(mostTokens(['a', 'abcd'])).to.equal(9)
  })

  it('may ask for as many vectors as fit into 40 MB', () => {
    expect(mostInputs({ encoding_format: 'base64' })).to.be.at.least(2048)
    expect(mostInputs({ encoding_format: 'float' })).to.be.within(600, 900)
    expect(mostInputs({ encoding_format: 'float', dimensions: 1024 })).to.be.at.least(2048)
    expect(mostInputs({ encoding_format: 'float', dimensions: 65_536 })).to.be.at.least(1)
  })
})
