import { expect } from 'chai'
import {
  imageUrlProblem,
  isPublicAddress,
  literalAddress,
  namesPublicHost,
} from '../../../src/shared/requests/addresses.ts'
import { PIXEL } from '../../support/pixel.ts'
import { SPECIAL_ADDRESSES } from './special-addresses.ts'

describe('addresses', () => {
  describe('image_url', () => {
    const fine = [
      ...(
        'https://example.com/cat.png http://example.com/cat.png?size=large#top HTTPS://EXAMPLE.COM/cat.png ' +
        'https://example.com:8443/cat.png https://example.com./cat.png https://bücher.example.com/cat.png ' +
        'https://xn--bcher-kva.example.com/ https://8.8.8.8/cat.png https://[2606:4700:4700::1111]/cat.png ' +
        'https://[::ffff:8.8.8.8]/cat.png https://localhost.example.com/cat.png ' +
        'https://example.com/?next=http://127.0.0.1/ https://example.com/a@b.png'
      ).split(' '),
      `https://example.com/${'x'.repeat(2048 - 20)}`,
      `data:image/png;base64,${PIXEL}`,
      `DATA:IMAGE/PNG;BASE64,${PIXEL}`,
    ]
    for (const url of fine) {
      it(`accepts ${url.slice(0, 60)}`, () => expect(imageUrlProblem(url)).to.equal(null))
    }

    for (const url of SPECIAL_ADDRESSES) {
      it(`refuses the address in ${url.slice(0, 60)}`, () => expect(imageUrlProblem(url)).to.match(/special address/))
    }

    const malformed = [
      '',
      ' ',
      ...(
        'cat.png /cat.png //example.com/cat.png http: http:example.com http:127.0.0.1 http:/127.0.0.1 ' +
        'https:///example.com'
      ).split(' '),
      'http:\\\\127.0.0.1',
      'http://example.com\\@127.0.0.1/',
      'ht\ntp://127.0.0.1/',
      'http://exam\tple.com/',
      ' https://example.com/',
      'https://example.com/a b.png',
      'https://example.com/\u0000',
      ...(
        'file:///etc/passwd ftp://example.com/ gopher://example.com/ javascript:alert(1) ' +
        'blob:https://example.com/x http://[::1 http://[fe80::1%25eth0]/ http://999.1.1.1/ http://1.2.3.4.5/ ' +
        'http://example.com:99999/'
      ).split(' '),
      'http://exa mple.com/',
    ]
    for (const url of malformed) {
      it(`refuses ${JSON.stringify(url.slice(0, 60))}`, () => expect(imageUrlProblem(url)).to.match(/must be an http/))
    }

    for (const [url, problem] of [
      ['data:', /must declare a PNG, JPEG, WebP or GIF image/],
      ['data:image/png', /must declare/],
      [`data:image/svg+xml;base64,${PIXEL}`, /must declare/],
      [`data:text/html;base64,${PIXEL}`, /must declare/],
      [`data:;base64,${PIXEL}`, /must declare/],
      [`data:constructor;base64,${PIXEL}`, /must declare/],
      [`data:image/png;${'a'.repeat(300)};base64,${PIXEL}`, /must declare/],
      [`data:image/png,${PIXEL}`, /";base64,"/],
      [`data:image/png;base64;charset=utf-8,${PIXEL}`, /";base64,"/],
      ['data:image/png;base64,', /no data/],
      ['data:image/png;base64, ==', /no data/],
      ['data:image/png;base64,====', /character that is not base64, after 0/],
      ['data:image/png;base64,AA=A', /character that is not base64, after 2/],
      ['data:image/png;base64,AAA!', /character that is not base64, after 3/],
      ['data:image/png;base64,AAAAA', /cut off/],
    ] as const) {
      it(`says what is wrong with ${JSON.stringify(url.slice(0, 60))}`, () =>
        expect(imageUrlProblem(url)).to.match(problem))
    }

    it('refuses credentials, empty ones too, and an address hidden behind them', () => {
      for (const url of (
        'https://user:secret@example.com/ https://user@example.com/ https://@example.com/ ' +
        'http://example.com@127.0.0.1/ http://127.0.0.1@example.com/'
      ).split(' ')) {
        expect(imageUrlProblem(url), url).to.match(/credentials/)
      }
    })

    it('counts 2048 characters in code points', () => {
      const head = 'https://example.com/'
      expect(imageUrlProblem(head + '🐈'.repeat(2048 - head.length))).to.equal(null)
      expect(imageUrlProblem(head + '🐈'.repeat(2049 - head.length))).to.match(/at most 2,048 characters/)
    })

    it('accepts the ports of web servers alone', () => {
      for (const port of [80, 443, 1024, 8080, 65_535])
        expect(imageUrlProblem(`http://example.com:${port}/`), String(port)).to.equal(null)
      for (const port of [0, 1, 22, 25, 81, 442, 444, 1023])
        expect(imageUrlProblem(`https://example.com:${port}/`), String(port)).to.match(
          /port 80, port 443 or a port above/,
        )
    })

    it('never repeats the text, which may contain a secret', () => {
      expect(imageUrlProblem('http://10.0.0.1/?key=hush')).not.to.contain('hush')
    })
  })

  describe('isPublicAddress', () => {
    it('is false for every text that is not a plain IP address', () => {
      for (const text of [
        '',
        ...'example.com 127.1 2130706433 [::1] 8.8.8.8:80 2606:4700::1%eth0'.split(' '),
        '8.8.8.8 ',
      ]) {
        expect(isPublicAddress(text), text).to.equal(false)
      }
    })

    it('knows the borders of the special networks', () => {
      for (const ip of (
        '9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.0.1.0 ' +
        '198.17.255.255 198.20.0.0 223.255.255.255 2001:200::1 2606:4700:: 64:ff9b::808:808 ' +
        '::ffff:808:808'
      ).split(' ')) {
        expect(isPublicAddress(ip), ip).to.equal(true)
      }
      for (const ip of (
        '10.255.255.255 100.127.255.255 172.31.255.255 192.0.0.255 198.19.255.255 239.255.255.255 ' +
        '2001:1ff:ffff::1 1fff::1 64:ff9b::a00:1 ::ffff:a00:1 ::ffff:0:808:808 ::808:808'
      ).split(' ')) {
        expect(isPublicAddress(ip), ip).to.equal(false)
      }
    })
  })

  it('distinguishes a literal address from a name', () => {
    expect(literalAddress(new URL('http://[::1]/'))).to.equal('::1')
    expect(literalAddress(new URL('http://0x7f.1/'))).to.equal('127.0.0.1')
    expect(literalAddress(new URL('http://example.com/'))).to.equal(null)
    expect(namesPublicHost(new URL('http://example.com/'))).to.equal(true)
    expect(namesPublicHost(new URL('http://0x7f.1/'))).to.equal(false)
  })
})
