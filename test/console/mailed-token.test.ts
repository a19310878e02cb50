import { expect } from 'chai'
import { tokenIn } from '../../src/console/parts/mailed-token.ts'

describe('the token of a mailed link', () => {
  const token = 'abcDEF0123_-'.repeat(3).concat('abcdefG')

  for (const [what, text] of Object.entries({
    'as it was mailed': `#token=${token}`,
    'with a tracker behind the fragment': `#token=${token}?utm_source=mail`,
    'with a parameter behind it': `#token=${token}&utm_source=mail`,
    'with the end of a sentence behind it': `#token=${token}.`,
    'with an encoded bracket behind it': `#token=${token}%3E`,
    'with an encoded equals sign': `#token%3D${token}`,
    'encoded twice': `%2523token%253D${token}%2526x`,
    'as a whole link': `https://gate.example/verify#token=${token}`,
    'as the code alone, with spaces': `  ${token}\n`,
    'in a query': `?token=${token}&x=1`,
  }))
    it(`is found ${what}`, () => {
      expect(tokenIn(text)).to.equal(token)
    })

  it('is nothing that is shorter or longer', () => {
    for (const text of ['', '#token=', `#token=${token.slice(1)}`, `#token=${token}a`, '%', '%zz%']) {
      expect(tokenIn(text), text).to.equal(null)
    }
  })
})
