import { expect } from 'chai'
import { base32, codeAt, otpauthUri, stepOf } from '../../../src/shared/sign-in/totp.ts'

/** The secret of RFC 6238, appendix B, for SHA-1. */
const secret = Buffer.from('12345678901234567890')

describe('codes of authenticator apps', () => {
  it('are those of RFC 6238, of which apps show the last 6 digits', () => {
    for (const [seconds, code] of [
      [59, '94287082'],
      [1_111_111_109, '07081804'],
      [1_111_111_111, '14050471'],
      [1_234_567_890, '89005924'],
      [2_000_000_000, '69279037'],
      [20_000_000_000, '65353130'],
    ] as const)
      expect(codeAt(secret, Math.floor(seconds / 30)), String(seconds)).to.equal(code.slice(-6))
  })

  it('are accepted of the step before and after, spaces or not, and of no other', () => {
    const now = 1000
    const steps = [998, 999, 1000, 1001, 1002].map((step) => stepOf(secret, codeAt(secret, step), now))
    expect(steps).to.deep.equal([null, 999, 1000, 1001, null])
    const code = codeAt(secret, now)
    expect(stepOf(secret, ` ${code.slice(0, 3)} ${code.slice(3)}`, now)).to.equal(now)
    for (const text of ['', '0', `${code}0`, code.slice(1), 'é'.repeat(3), `-${code.slice(1)}`])
      expect(stepOf(secret, text, now), text).to.equal(null)
  })

  it('come from a secret in base32 (RFC 4648) that apps read from an address', () => {
    for (const [text, encoded] of [
      ['f', 'MY'],
      ['fo', 'MZXQ'],
      ['foo', 'MZXW6'],
      ['fooba', 'MZXW6YTB'],
      ['foobar', 'MZXW6YTBOI'],
    ] as const)
      expect(base32(Buffer.from(text))).to.equal(encoded)
    const uri = otpauthUri(secret, { issuer: 'gate.example:8443', account: 'a+b@example.com' })
    expect(uri).to.equal(
      'otpauth://totp/gate.example%3A8443:a%2Bb%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' +
        '&issuer=gate.example%3A8443&algorithm=SHA1&digits=6&period=30',
    )
  })
})
