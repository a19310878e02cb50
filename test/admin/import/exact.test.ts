import { expect } from 'chai'
import {
  ceilingOf,
  decimalText,
  dividedBy,
  exactOf,
  floorOf,
  minus,
  plus,
  times,
} from '../../../src/admin/import/exact.ts'

const exact = (text: string) => exactOf(text)!

describe('exact arithmetic of an import', () => {
  it('reads decimal numbers, and nothing else', () => {
    for (const [text, same] of [
      ['10', '10'],
      ['-0.50', '-0.5'],
      ['1.25e-06', '0.00000125'],
      ['1e21', '1000000000000000000000'],
      ['9007199254740993', '9007199254740993'],
    ])
      expect(decimalText(exact(text!)), text).to.equal(same)
    for (const text of ['', 'NaN', 'Infinity', '0x10', '1_000', ' 1', '1e9999', '.5', '1.'])
      expect(exactOf(text), text).to.equal(null)
  })

  it('rounds down and up without floating point, below zero, too', () => {
    const third = dividedBy(exact('10'), exact('3'))
    const below = minus(exact('0'), third)
    expect([third, below].map(floorOf)).to.deep.equal([3n, -4n])
    expect([third, below].map(ceilingOf)).to.deep.equal([4n, -3n])
    expect(floorOf(times(plus(exact('0.1'), exact('0.2')), exact('10')))).to.equal(3n)
  })
})
