import { expect } from 'chai'
import { receiverProblem } from '../../../src/shared/webhooks/addresses.ts'
import { SPECIAL_ADDRESSES } from '../requests/special-addresses.ts'

describe('the address of a receiver', () => {
  it('is https on port 443 or one above 1023, of the public internet', () => {
    for (const url of [
      ...(
        'https://receiver.example/events?of=tollgate https://receiver.example:443/ ' +
        'https://receiver.example:8443/ https://8.8.8.8/ https://[2606:4700:4700::1111]/'
      ).split(' '),
      `https://receiver.example/${'x'.repeat(2048 - 25)}`,
    ]) {
      expect(receiverProblem(url, false), url).to.equal(null)
    }
  })

  it('is none that is private in any spelling', () => {
    for (const url of SPECIAL_ADDRESSES) {
      const secure = url.replace(/^http:/i, 'https:')
      expect(receiverProblem(secure, false), secure).to.be.a('string')
    }
  })

  it('is none of another scheme or port, with credentials, too long, or malformed', () => {
    for (const url of [
      '',
      ...(
        'receiver.example //receiver.example/ http://receiver.example/ ftp://receiver.example/ ' +
        'data:text/plain,x https://receiver.example:80/ https://receiver.example:22/ ' +
        'https://receiver.example:1023/ https://user:word@receiver.example/'
      ).split(' '),
      'https://receiver.example\\@127.0.0.1/',
      'https://receiver.example/a b',
      `https://receiver.example/${'x'.repeat(2048)}`,
    ]) {
      expect(receiverProblem(url, false), url).to.be.a('string')
    }
  })

  it('may be http, private and of any port where the operator allows it, and nothing else', () => {
    expect(receiverProblem('http://127.0.0.1:9/', true)).to.equal(null)
    for (const url of ['', 'ftp://127.0.0.1/', 'http://user@127.0.0.1/', 'http:/127.0.0.1'])
      expect(receiverProblem(url, true), url).to.be.a('string')
  })
})
