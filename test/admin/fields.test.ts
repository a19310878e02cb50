import { expect } from 'chai'
import { CommandError } from '../../src/admin/command.ts'
import { creditsOf, futureOf, momentOf, wholeNumberOf } from '../../src/admin/fields.ts'

function refusal(read: () => unknown): string {
  try {
    return `not refused: ${String(read())}`
  } catch (error) {
    expect(error).to.be.instanceOf(CommandError)
    return (error as Error).message
  }
}

describe('what is typed on the command line', () => {
  it('is a number only in decimal digits', () => {
    expect(wholeNumberOf('--amount', '100', [1, 1000])).to.equal(100)
    for (const text of ['0x64', '1e2', '1.0', ' 5', '-1', '', '0', '1001', '９'])
      expect(
        refusal(() => wholeNumberOf('--amount', text, [1, 1000])),
        text,
      ).to.equal('--amount must be a whole number from 1 to 1000.')
    expect(refusal(() => creditsOf('--credits', 'x'))).to.match(/^--credits must be a whole number of credits from 1 /)
  })

  it('is a moment only if there is one: a day in UTC, or a time with its zone', () => {
    expect(momentOf('--from', '2030-01-31').toISOString()).to.equal('2030-01-31T00:00:00.000Z')
    expect(momentOf('--from', '2030-01-31T12:00:00+02:00').toISOString()).to.equal('2030-01-31T10:00:00.000Z')
    for (const text of ['2030-02-31', '2030-02-31T00:00:00Z', '2030-01-31T00:00', 'tomorrow', '', '2030'])
      expect(
        refusal(() => momentOf('--from', text)),
        text,
      ).to.match(/^--from must be a day or a time with its zone, such as /)
    expect(refusal(() => futureOf('--expires', '2020-01-01'))).to.equal('--expires must be in the future.')
  })
})
