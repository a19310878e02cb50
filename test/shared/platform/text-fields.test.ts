import { expect } from 'chai'
import { shownName } from '../../../src/shared/platform/text-fields.ts'

describe('a name that others see', () => {
  const isTaken = (name: string): boolean => shownName(60).safeParse(name).success

  it('has no address, however it is spelled', () => {
    const addresses = ['https://evil.example/x', 'evil.example', 'see www.evil.example now', 'EVIL.COM', 'ab.co.uk']
    const disguised = 'ｅｖｉｌ．ｃｏｍ evil。com пример.рф xn--e1afmkfd.xn--p1ai 1.2.3.4 http:/evil //evil/x evil․com'
    for (const name of [...addresses, ...disguised.split(' '), 'a@b', 'mailto:ada', 'tel:123', '[x](hxxp://y)']) {
      expect(isTaken(name), name).to.equal(false)
    }
  })

  it('has no invisible character and no direction mark', () => {
    for (const code of [
      0x00ad, 0x061c, 0x200b, 0x200c, 0x200d, 0x200f, 0x202e, 0x2060, 0x2066, 0xfeff, 0x3164, 0xe0041,
    ]) {
      expect(isTaken(`a${String.fromCodePoint(code)}b`), code.toString(16)).to.equal(false)
    }
    expect(isTaken('a\nb')).to.equal(false)
  })

  it('is otherwise what people and companies are called', () => {
    const companies = [
      'Analytical Engines Ltd.',
      'U.S. Steel',
      'A. B. Smith & Sons',
      'AC/DC',
      'R2.5',
      'Team: Blue',
      'Yahoo!',
    ]
    for (const name of [...companies, 'Ünïcödé', 'مفتاح', 'שלום', 'हिन्दी', '株式会社', '👩‍🚀'.repeat(20), '👩🏽‍🚀', '']) {
      expect(isTaken(name), name).to.equal(true)
    }
  })
})
