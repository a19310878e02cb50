import { expect } from 'chai'
import fc from 'fast-check'
import { moderationKind } from '../../../src/api/v1/moderations.ts'
import type { ModerationModel } from '../../../src/shared/catalogue/catalogue.ts'
import { expectFieldRefused } from './field-refusals.ts'
import { picturesOf, resultsOf, withPictures } from '../../../src/shared/requests/moderations.ts'
import type { ModerationRequest } from '../../../src/shared/requests/moderations.ts'

const MODEL = { id: 'judge', modality: 'moderation', price: { credits: 7 } } as unknown as ModerationModel

const picture = (url: string) => ({ type: 'image_url' as const, image_url: { url } })
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string() }),
  fc.record({ type: fc.constant('image_url'), image_url: fc.record({ url: fc.webUrl() }) }),
  fc.record({ type: fc.string(), text: fc.string() }),
  fc.anything(),
)
const body = fc.record(
  {
    input: fc.oneof(fc.string(), fc.array(fc.string()), fc.array(part), fc.anything()),
    model: fc.oneof(fc.constant('judge'), fc.constant(null)),
    n: fc.anything(),
  },
  { requiredKeys: ['input'] },
)

describe('a request for a moderation', () => {
  it('is refused by the name of a field, or sent with its input alone, at the price of a call', () => {
    fc.assert(
      fc.property(body, (asked) => {
        try {
          const { request, charge, estimate } = moderationKind.parse(asked, MODEL)
          expect(request).to.deep.equal({ input: asked.input })
          expect({ charge, estimate }).to.deep.equal({ charge: 7, estimate: null })
          expect(resultsOf(request)).to.be.within(1, 100)
        } catch (error) {
          expectFieldRefused(error)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('has a result for each of several texts, and one for everything else', () => {
    expect(resultsOf({ input: 'a' })).to.equal(1)
    expect(resultsOf({ input: ['a', 'b'] })).to.equal(2)
    expect(resultsOf({ input: [{ type: 'text', text: 'a' }, picture('https://example.com/a.png')] })).to.equal(1)
  })

  it('has the addresses of its pictures, which can be replaced', () => {
    const input: ModerationRequest['input'] = [
      { type: 'text', text: 'https://a.b' },
      picture('https://example.com/a.png'),
    ]
    expect(picturesOf({ input })).to.deep.equal(['https://example.com/a.png'])
    expect(picturesOf({ input: ['https://a.b'] })).to.deep.equal([])
    const replaced = withPictures({ input }, (url) => `${url}?`)
    expect(replaced.input).to.deep.equal([input[0], picture('https://example.com/a.png?')])
    expect(withPictures({ input: 'a' }, () => 'b')).to.deep.equal({ input: 'a' })
  })
})
