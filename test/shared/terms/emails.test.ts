import { expect } from 'chai'
import { mailboxOf, parseEmail } from '../../../src/shared/terms/emails.ts'

describe('e-mail addresses', () => {
  it('are lowercased, and otherwise unchanged', () => {
    expect(parseEmail('Ada.Lovelace+x@Example.CO.uk')).to.equal('ada.lovelace+x@example.co.uk')
    expect(parseEmail('a@xn--bcher-kva.example')).to.equal('a@xn--bcher-kva.example')
  })

  it('are ASCII, so that no look-alike becomes another address', () => {
    for (const text of [
      '\u212a@x.com',
      'victim\uff20evil.com@good.com',
      'a\uff20x.com',
      '\ufb00@x.com',
      'a@b\u3002com',
      'a@\u00ef.com',
      '\u0131@x.com',
      'a@x.com\u200b',
    ]) {
      expect(parseEmail(text), JSON.stringify(text)).to.equal(null)
    }
  })

  it('are single: no list, no name, no comment, no line break', () => {
    for (const text of [
      'a@x.com,b@x.com',
      'a@x.com;b@x.com',
      'a@x.com b@x.com',
      'Ada <a@x.com>',
      '<a@x.com>',
      'a@x.com(c)',
      '(c)a@x.com',
      '"a b"@x.com',
      'a@x.com\n',
      'a@x.com\r\nBcc: b@x.com',
      'a\r\n@x.com',
      'a@x.com\0',
      'a@b@x.com',
      '@x.com:a@y.com',
      'a%b@x.com@y.com',
    ]) {
      expect(parseEmail(text), JSON.stringify(text)).to.equal(null)
    }
  })

  it('have a well-formed local part and a domain of names', () => {
    for (const text of [
      '',
      ...(
        '@ a a@ @x.com .a@x.com a.@x.com a..b@x.com a@x a@localhost a@.com a@x..com a@-x.com a@x-.com a@x.com. ' +
        'a@[127.0.0.1] a@127.0.0.1 a@x.1 a@x_y.com'
      ).split(' '),
      `${'a'.repeat(65)}@x.com`,
      `a@${'b'.repeat(64)}.com`,
    ]) {
      expect(parseEmail(text), JSON.stringify(text)).to.equal(null)
    }
    for (const text of ["!#$%&'*+-/=?^_`{|}~@x.com", `${'a'.repeat(64)}@${'b'.repeat(63)}.com`, '1@1.co'])
      expect(parseEmail(text), text).to.equal(text)
  })

  it('have at most 254 characters', () => {
    const domain = `${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(57)}.com`
    expect(parseEmail(`${'a'.repeat(64)}@${domain}`)).to.have.length(254)
    expect(parseEmail(`${'a'.repeat(64)}@b${domain.slice(0, 62)}${domain.slice(62)}`)).to.equal(null)
  })

  it('are strings', () => {
    for (const value of [undefined, null, 5, {}, ['a@x.com'], { toString: () => 'a@x.com' }])
      expect(parseEmail(value)).to.equal(null)
  })
})

describe('the mailbox of an address', () => {
  for (const [address, mailbox] of [
    ['ada@example.com', 'ada@example.com'],
    ['ada+shop@example.com', 'ada@example.com'],
    ['ada+a+b@example.com', 'ada@example.com'],
    ['ada+@example.com', 'ada@example.com'],
    ['a.da@example.com', 'a.da@example.com'],
    ['+tag@example.com', '+tag@example.com'],
    ['a.d.a+shop@gmail.com', 'ada@gmail.com'],
    ['ada@googlemail.com', 'ada@gmail.com'],
    ['a.da@mail.gmail.com', 'a.da@mail.gmail.com'],
    ['a.da+x@protonmail.com', 'ada@proton.me'],
    ['ada@pm.me', 'ada@proton.me'],
    ['ada+x@me.com', 'ada@icloud.com'],
  ] as const) {
    it(`of ${address} is ${mailbox}`, () => {
      expect(mailboxOf(address)).to.equal(mailbox)
    })
  }
})
