import { expect } from 'chai'
import { UpstreamError } from '../../../src/workers/upstreams/adapter.ts'
import { applyRules } from '../../../src/workers/upstreams/body-rules.ts'

const rules = (more: Partial<Parameters<typeof applyRules>[1]>) => ({ rename: {}, drop: [], set: {}, ...more })

const CASES: [
  what: string,
  rules: Parameters<typeof rules>[0],
  body: Record<string, unknown>,
  sent: Record<string, unknown>,
][] = [
  ['nothing without rules', {}, { a: 1 }, { a: 1 }],
  ['drops', { drop: ['a', 'x'] }, { a: 1, b: 2 }, { b: 2 }],
  ['renames what is there', { rename: { a: 'b', x: 'y' } }, { a: 1 }, { b: 1 }],
  ['renames over what had the name', { rename: { a: 'b' } }, { a: 1, b: 2 }, { b: 1 }],
  ['swaps nothing that was dropped', { drop: ['a'], rename: { a: 'b' } }, { a: 1 }, {}],
  ['sets over everything', { rename: { a: 'b' }, set: { b: 3, c: null } }, { a: 1 }, { b: 3, c: null }],
  ['puts into a list', { rename: { a: 'b:list' } }, { a: 'x' }, { b: ['x'] }],
  ['puts into a text', { rename: { a: 'a:string' } }, { a: 5 }, { a: '5' }],
  ['puts into seconds', { rename: { a: 'a:seconds' } }, { a: 5 }, { a: '5s' }],
  ['puts into an integer, never a larger one', { rename: { a: 'a:integer' } }, { a: 4.6 }, { a: 4 }],
]

describe('the rules of a route', () => {
  for (const [what, given, body, sent] of CASES) {
    it(`change a body: ${what}`, () => {
      const before = structuredClone(body)
      expect(applyRules(body, rules(given))).to.deep.equal(sent)
      expect(body).to.deep.equal(before)
    })
  }

  it('refuse a form that does not exist', () => {
    for (const form of ['sting', 'constructor', '']) {
      expect(() => applyRules({ a: 1 }, rules({ rename: { a: `b:${form}` } })), form)
        .to.throw(UpstreamError)
        .with.property('kind', 'rejected')
    }
  })
})
