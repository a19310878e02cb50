import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { qrCode } from '../../src/console/parts/qr-code.ts'

const URI =
  'otpauth://totp/gate.example:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=gate.example' +
  '&algorithm=SHA1&digits=6&period=30'

describe('QR codes', () => {
  it('are the modules that another implementation (jsQR) has read', () => {
    const code = qrCode(URI)
    const rows = code.map((row) => row.map(Number).join('')).join('\n')
    expect(code).to.have.length(45)
    expect(createHash('sha256').update(rows).digest('hex')).to.equal(
      '26fa6ee9fd0fda94da9ba28884020f0df03494fd372b9169f00ea5b48ccf7269',
    )
  })

  it('have the smallest size that a text fits in, up to 520 bytes', () => {
    const sizes = [17, 18, 32, 33, 230, 231, 271, 272, 520].map((length) => qrCode('x'.repeat(length)).length)
    expect(sizes).to.deep.equal([21, 25, 25, 29, 53, 57, 57, 61, 77])
    expect(() => qrCode('x'.repeat(521))).to.throw(RangeError)
  })
})
