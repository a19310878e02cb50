import { expect } from 'chai'
import { parseTraceparent } from '../../../../src/shared/platform/process/trace.ts'

const ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

describe('a traceparent header', () => {
  it('is passed on unchanged', () => {
    for (const flags of ['00', '01', 'ff'])
      expect(parseTraceparent(`00-${ID}-${PARENT}-${flags}`)).to.equal(`00-${ID}-${PARENT}-${flags}`)
  })

  it('of a later version is used as far as it is known', () => {
    expect(parseTraceparent(`cc-${ID}-${PARENT}-03-what-will-be`)).to.equal(`00-${ID}-${PARENT}-01`)
    expect(parseTraceparent(`01-${ID}-${PARENT}-02`)).to.equal(`00-${ID}-${PARENT}-00`)
  })

  for (const [what, header] of Object.entries({
    'is empty': '',
    'has no trace': `00-${'0'.repeat(32)}-${PARENT}-01`,
    'has no parent': `00-${ID}-${'0'.repeat(16)}-01`,
    'has the version that is none': `ff-${ID}-${PARENT}-01`,
    'is longer than its version': `00-${ID}-${PARENT}-01-more`,
    'is longer, without a dash': `cc-${ID}-${PARENT}-01more`,
    'is in capitals': `00-${ID.toUpperCase()}-${PARENT}-01`,
    'is too short': `00-${ID}-${PARENT}`,
    'hides a second line': `00-${ID}-${PARENT}-01\nx: y`,
  }))
    it(`that ${what} is ignored`, () => expect(parseTraceparent(header)).to.equal(undefined))
})
