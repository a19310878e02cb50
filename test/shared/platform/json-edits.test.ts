import { expect } from 'chai'
import fc from 'fast-check'
import { excessDigits, writtenOver } from '../../../src/shared/platform/json-edits.ts'

/** JSON values as texts of many spellings. */
const SPACE = fc.constantFrom('', '', ' ', '\n\t', '\r\n  ')
const spelled = (value: unknown, spaces: () => string): string => {
  if (Array.isArray(value))
    return `[${spaces()}${value.map((one) => `${spelled(one, spaces)}${spaces()}`).join(`,${spaces()}`)}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([name, one]) => `${JSON.stringify(name)}${spaces()}:${spaces()}${spelled(one, spaces)}${spaces()}`,
    )
    return `{${spaces()}${members.join(`,${spaces()}`)}}`
  }
  return JSON.stringify(value)
}
const parsed = (text: string): unknown => JSON.parse(text)
const normal = (value: unknown): unknown => parsed(JSON.stringify(value ?? null))

describe('JSON that is written over a text', () => {
  const EDITS: [text: string, value: unknown, written: string][] = [
    ['{ "a": 1.0, "b" : [1e2] }', { a: 1, b: [100] }, '{ "a": 1.0, "b" : [1e2] }'],
    [
      '{"a":12345678901234567890,"b":"\\u0041"}',
      { a: parsed('12345678901234567890'), b: 'B' },
      '{"a":12345678901234567890,"b":"B"}',
    ],
    ['{ "a": 1, "b": 2, "c": 3 }', { a: 1, c: 3 }, '{ "a": 1, "c": 3 }'],
    ['{ "a": 1, "b": 2 }', { b: 2 }, '{ "b": 2 }'],
    ['{ "a": 1, "b": 2 }', { a: 1 }, '{ "a": 1 }'],
    ['{ "a": 1 }', {}, '{  }'],
    ['{}', { a: 1, b: undefined }, '{"a":1}'],
    ['{ "a": 1 }', { a: 1, n: null }, '{ "a": 1,"n":null }'],
    ['{"a":1,"b":0,"a":2}', { a: 2, b: 0 }, '{"b":0,"a":2}'],
    ['[ 1.0, 2.0 , 3.0 ]', [1, 3], '[ 1.0 , 3.0 ]'],
    ['["\\\\","a\\"b" , {"x":"]"}]', ['\\', 'a"b', { x: '}' }], '["\\\\","a\\"b" , {"x":"}"}]'],
    ['[1.0,{"a":2.0,"b":3.0},4.0]', [1, { a: 2, b: 5 }, 4], '[1.0,{"a":2.0,"b":5},4.0]'],
    ['[]', [1], '[1]'],
    ['"a"', 'b', '"b"'],
    ['{"__proto__":{"x":1.0},"a":1}', parsed('{"__proto__":{"x":1}}'), '{"__proto__":{"x":1.0}}'],
  ]
  for (const [text, value, written] of EDITS)
    it(`has what does not change as it was written: ${text} to ${JSON.stringify(value)}`, () =>
      expect(writtenOver(text, parsed(text), value)).to.equal(written))

  it('finds what has moved because something in front of it was removed', () => {
    const text = '[1.0,{"a":2.0},{"x":3.0,"y":0} ,4.0]'
    const [, second, third, last] = parsed(text) as object[]
    expect(writtenOver(text, [1, second, third, last], [second, { x: 3 }, last])).to.equal('[{"a":2.0},{"x":3.0} ,4.0]')
    expect(excessDigits('{"1.000":"2.000","a":[1.000, 12345678901234567890,-0.50]}')).to.equal(5)
  })

  it('is the value, whatever was there, and the text itself where nothing changes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.infiniteStream(SPACE), (before, after, spaces) => {
        const text = spelled(before, () => spaces.next().value as string)
        expect(parsed(writtenOver(text, parsed(text), after))).to.deep.equal(normal(after))
        expect(writtenOver(text, parsed(text), parsed(text))).to.equal(text)
      }),
      { numRuns: 300 },
    )
  })

  it('is the value after members and elements were removed, changed and added', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, fc.constantFrom(1, 'x', null, true), tie('list'), tie('object')),
      list: fc.array(tie('any'), { maxLength: 5 }),
      object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', '"', 'é'), tie('any'), { maxKeys: 5 }),
    })).any
    const changed = (one: unknown, chance: () => number): unknown => {
      if (chance() === 0) return 'new'
      if (Array.isArray(one)) return one.filter(() => chance() !== 1).map((item) => changed(item, chance))
      if (typeof one !== 'object' || one === null) return one
      const members = Object.entries(one).filter(() => chance() !== 1)
      const added = chance() === 2 ? [['z', 1] as [string, unknown]] : []
      return Object.fromEntries([...members.map(([name, item]) => [name, changed(item, chance)]), ...added])
    }
    fc.assert(
      fc.property(value, fc.infiniteStream(fc.nat(9)), fc.infiniteStream(SPACE), (before, chances, spaces) => {
        const after = changed(before, () => chances.next().value as number)
        const text = spelled(before, () => spaces.next().value as string)
        expect(parsed(writtenOver(text, parsed(text), after))).to.deep.equal(normal(after))
      }),
      { numRuns: 1000 },
    )
  })
})
